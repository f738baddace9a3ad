"""While an input method composes text in a field, the keys that end a composition stay with it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QInputMethodEvent, QKeyEvent
from PySide6.QtWidgets import QWidget

_ITS_KEYS = frozenset({
    Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Escape, Qt.Key.Key_Tab, Qt.Key.Key_Backtab,
    Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown,
})  # fmt: skip
_KEY_EVENTS = (QEvent.Type.KeyPress, QEvent.Type.ShortcutOverride)


class CompositionGuard(QObject):
    """Keeps Enter, Escape and the candidate keys of a composing field from submitting, closing or moving.

    Input methods normally take these keys before the program sees them; some let them through.
    Filters installed on the field later see its events first, so guard it last.
    """

    def __init__(self, field: QWidget) -> None:
        super().__init__(field)
        self._is_composing = False
        field.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QInputMethodEvent):
            self._is_composing = bool(event.preeditString())
        elif event.type() == QEvent.Type.FocusOut:
            # Qt commits or drops the composition then
            self._is_composing = False
        elif self._is_composing and event.type() in _KEY_EVENTS and isinstance(event, QKeyEvent):
            return self._keeps(event)
        return super().eventFilter(watched, event)

    @staticmethod
    def _keeps(event: QKeyEvent) -> bool:
        if event.key() not in _ITS_KEYS:
            return False
        # accepting the override keeps shortcuts of the window away from the key
        event.accept()
        return True
