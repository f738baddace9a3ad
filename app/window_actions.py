"""Menus and shortcuts of the window: how an entry is made, and where it is found again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu, QWidget

from app.theme import Scheme, Theme

_Key = QKeySequence.StandardKey
Shortcut = QKeySequence.StandardKey | str | None


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """One menu entry; a `None` in a list of specs is a separator.

    The shortcut works in the whole window, or only in `owner` if there is one.
    """

    text: str
    call: Callable[[], object]
    shortcut: Shortcut = None
    role: QAction.MenuRole = QAction.MenuRole.NoRole
    owner: QWidget | None = None


class WindowActions:
    """Builds the menu bar; `actions` by their text without ampersands and dots."""

    def __init__(self, window: QMainWindow) -> None:
        self.actions: dict[str, QAction] = {}
        self.window = window

    def add_menu(self, title: str, specs: list[ActionSpec | None]) -> QMenu:
        """Append a menu."""
        menu = self.window.menuBar().addMenu(title)
        self.fill_menu(menu, specs)
        return menu

    def fill_menu(self, menu: QMenu, specs: list[ActionSpec | None]) -> None:
        """Append entries."""
        for spec in specs:
            if spec is None:
                menu.addSeparator()
            else:
                menu.addAction(self._action(spec))

    def add_view_menu(self, theme: Theme, docks: list[QAction], on_change: Callable[[], None]) -> QMenu:
        """Panels, colours, text size."""
        menu = self.window.menuBar().addMenu("&View")
        for dock in docks:
            menu.addAction(dock)
        menu.addSeparator()
        self._add_schemes(menu.addMenu("&Colours"), theme, on_change)
        menu.addSeparator()
        self.fill_menu(menu, [
            ActionSpec("&Larger text", lambda: _step(theme, 1, on_change), _Key.ZoomIn),
            ActionSpec("&Smaller text", lambda: _step(theme, -1, on_change), _Key.ZoomOut),
            ActionSpec("&Normal text size", lambda: _step(theme, 0, on_change), "Ctrl+0"),
        ])  # fmt: skip
        # Ctrl++ needs Shift on most keyboards
        self.actions["Larger text"].setShortcuts([QKeySequence("Ctrl++"), QKeySequence("Ctrl+=")])
        return menu

    def _add_schemes(self, menu: QMenu, theme: Theme, on_change: Callable[[], None]) -> None:
        group = QActionGroup(menu)
        names = {Scheme.AUTO: "As the &system", Scheme.LIGHT: "&Light", Scheme.DARK: "&Dark"}
        actions = {}
        for scheme, text in names.items():
            action = self._action(ActionSpec(text, _choose(theme, scheme, on_change)))
            action.setCheckable(True)
            group.addAction(action)
            menu.addAction(action)
            actions[scheme] = action
        actions[theme.scheme].setChecked(True)
        theme.changed.connect(lambda: actions[theme.scheme].setChecked(True))

    def _action(self, spec: ActionSpec) -> QAction:
        action = QAction(spec.text, self.window)
        if spec.shortcut is not None:
            action.setShortcut(QKeySequence(spec.shortcut))
        if spec.owner is not None:
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            spec.owner.addAction(action)
        action.setMenuRole(spec.role)
        action.triggered.connect(lambda _checked=False: spec.call())
        self.actions[spec.text.replace("&", "").rstrip("…")] = action
        return action


def _step(theme: Theme, step: int, on_change: Callable[[], None]) -> None:
    """To the next larger or smaller size; 0 is back to normal."""
    if step:
        theme.step_text(step)
    else:
        theme.set_text_percent(100)
    on_change()


def _choose(theme: Theme, scheme: Scheme, on_change: Callable[[], None]) -> Callable[[], None]:
    def call() -> None:
        theme.set_scheme(scheme)
        on_change()

    return call
