"""Menus and shortcuts of the window, and the sheet that lists them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu, QWidget

from app.shortcut_sheet import ShortcutSheet
from app.theme import Scheme, Theme

_Key = QKeySequence.StandardKey
Shortcut = QKeySequence.StandardKey | str | None
_COMPOSER_KEYS = (
    ("Send the message", "Enter"),
    ("New line in the message", "Shift+Enter"),
    ("Rename the conversation in the list", "F2"),
    ("Delete the conversation in the list", "Del"),
)


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """One menu entry; a `None` in a list of specs is a separator."""

    text: str
    call: Callable[[], object]
    shortcut: Shortcut = None
    role: QAction.MenuRole = QAction.MenuRole.NoRole


class WindowActions:
    """Builds the menu bar; `actions` by their text without ampersands."""

    def __init__(self, window: QMainWindow) -> None:
        self.actions: dict[str, QAction] = {}
        self._window = window

    def add_menu(self, title: str, specs: list[ActionSpec | None]) -> QMenu:
        """Append a menu."""
        menu = self._window.menuBar().addMenu(title)
        for spec in specs:
            if spec is None:
                menu.addSeparator()
            else:
                menu.addAction(self._action(spec))
        return menu

    def add_view_menu(self, theme: Theme, docks: list[QAction], on_change: Callable[[], None]) -> None:
        """Panels, colours, text size."""
        menu = self._window.menuBar().addMenu("&View")
        for dock in docks:
            menu.addAction(dock)
        menu.addSeparator()
        self._add_schemes(menu.addMenu("&Colours"), theme, on_change)
        menu.addSeparator()
        steps = (("Larger text", 1, _Key.ZoomIn), ("Smaller text", -1, _Key.ZoomOut))
        for text, step, shortcut in steps:
            menu.addAction(self._action(ActionSpec(text, _then(theme, step, on_change), shortcut)))
        # Ctrl++ needs Shift on most keyboards
        self.actions["Larger text"].setShortcuts([QKeySequence("Ctrl++"), QKeySequence("Ctrl+=")])
        menu.addAction(self._action(ActionSpec("Normal text size", _reset(theme, on_change), "Ctrl+0")))

    def _add_schemes(self, menu: QMenu, theme: Theme, on_change: Callable[[], None]) -> None:
        group = QActionGroup(menu)
        names = {Scheme.AUTO: "As the system", Scheme.LIGHT: "Light", Scheme.DARK: "Dark"}
        for scheme, text in names.items():
            action = self._action(ActionSpec(text, _choose(theme, scheme, on_change)))
            action.setCheckable(True)
            action.setChecked(theme.scheme is scheme)
            group.addAction(action)
            menu.addAction(action)

    def _action(self, spec: ActionSpec) -> QAction:
        action = QAction(spec.text, self._window)
        if spec.shortcut is not None:
            action.setShortcut(QKeySequence(spec.shortcut))
        action.setMenuRole(spec.role)
        action.triggered.connect(lambda _checked=False: spec.call())
        self.actions[spec.text.replace("&", "").rstrip("…")] = action
        return action

    def show_shortcuts(self, parent: QWidget) -> None:
        """A sheet of all shortcuts."""
        named = [
            (text, action.shortcut().toString(QKeySequence.SequenceFormat.NativeText))
            for text, action in self.actions.items()
            if not action.shortcut().isEmpty()
        ]
        sheet = ShortcutSheet([*_COMPOSER_KEYS, *named], parent)
        sheet.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        sheet.open()


def _then(theme: Theme, step: int, on_change: Callable[[], None]) -> Callable[[], None]:
    def call() -> None:
        theme.step_text(step)
        on_change()

    return call


def _reset(theme: Theme, on_change: Callable[[], None]) -> Callable[[], None]:
    def call() -> None:
        theme.set_text_percent(100)
        on_change()

    return call


def _choose(theme: Theme, scheme: Scheme, on_change: Callable[[], None]) -> Callable[[], None]:
    def call() -> None:
        theme.set_scheme(scheme)
        on_change()

    return call
