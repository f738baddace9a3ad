"""The way of the focus: Tab through the panels in the order they are read, F6 from panel to panel."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget


def order_panels(panels: Sequence[QWidget]) -> None:
    """Tab leaves each panel for the next; inside one the order stays."""
    chain = [each for panel in panels for each in _chain_inside(panel)]
    for before, after in pairwise(chain):
        QWidget.setTabOrder(before, after)


def focus_next_panel(panels: Sequence[QWidget], focus: QWidget | None) -> None:
    """To the panel after the one that holds the focus; what is hidden is passed over."""
    shown = [panel for panel in panels if panel.isVisible()]
    place = next((n for n, panel in enumerate(shown) if _holds(panel, focus)), -1)
    for panel in [*shown[place + 1 :], *shown[: place + 1]]:
        target = _focusable(panel)
        if target is not None:
            target.setFocus(Qt.FocusReason.TabFocusReason)
            return


def _chain_inside(panel: QWidget) -> list[QWidget]:
    found = [panel]
    each: QWidget | None = panel.nextInFocusChain()
    while each is not None and each is not panel:
        if panel.isAncestorOf(each):
            found.append(each)
        each = each.nextInFocusChain()
    return [each for each in found if each.focusPolicy() & Qt.FocusPolicy.TabFocus]


def _holds(panel: QWidget, focus: QWidget | None) -> bool:
    return focus is not None and (focus is panel or panel.isAncestorOf(focus))


def _focusable(panel: QWidget) -> QWidget | None:
    """The panel itself, or the first control in it that Tab would reach."""
    candidates = [panel, *panel.findChildren(QWidget)]
    return next((each for each in candidates if each.focusPolicy() & Qt.FocusPolicy.TabFocus
                 and each.isVisible() and each.isEnabled()), None)  # fmt: skip
