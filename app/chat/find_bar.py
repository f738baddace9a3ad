"""The bar that finds words in the conversation on the screen."""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QToolButton, QWidget

from app.text_field import TextField

_DELAY_MS = 120
_ENTER_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class SearchedText(Protocol):
    """What the bar needs of the transcript."""

    def find(self, text: str, backward: bool = False) -> bool: ...

    def match_count(self, text: str) -> int: ...


class FindBar(QFrame):
    """Hidden until `open_bar`; `closed` gives the focus back. GUI thread."""

    closed = Signal()

    def __init__(self, searched: SearchedText, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._searched = searched
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.field = TextField("Find in this conversation", "Find in this conversation")
        self.field.offer_clearing()
        self._count = QLabel()
        self._count.setAccessibleName("Matches")
        self._previous = _button("▲", "Previous match", "Shift+Enter")
        self._next = _button("▼", "Next match", "Enter")
        self._close = _button("✕", "Close the find bar", "Esc")
        # each letter would search a long conversation anew
        self._delay = QTimer(self, singleShot=True, interval=_DELAY_MS)
        self._delay.timeout.connect(self.find_next)
        self.field.textChanged.connect(self._text_changed)
        self._previous.clicked.connect(self.find_previous)
        self._next.clicked.connect(self.find_next)
        self._close.clicked.connect(self.close_bar)
        self._build_layout()
        self.hide()

    def _build_layout(self) -> None:
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 4, 12, 4)
        layout.addWidget(self.field, 1)
        for widget in (self._count, self._previous, self._next, self._close):
            layout.addWidget(widget)

    @property
    def count_words(self) -> str:
        """What stands beside the field."""
        return self._count.text()

    def open_bar(self, text: str = "") -> None:
        """Show it with the field ready to type; `text` is looked for at once."""
        self.show()
        if text:
            self.field.setText(text)
        self.field.setFocus()
        self.field.selectAll()

    def look_for(self, text: str) -> None:
        """Show the first match and the bar; the focus stays where it is."""
        self.field.setText(text)
        self.show()
        self.find_next()

    def close_bar(self) -> None:
        self._delay.stop()
        self.hide()
        self.closed.emit()

    def find_next(self) -> None:
        self._find(backward=False)

    def find_previous(self) -> None:
        self._find(backward=True)

    def _find(self, backward: bool) -> None:
        self._delay.stop()
        text = self.field.text()
        if not text:
            self._count.clear()
            return
        self._show_count(self._searched.match_count(text))
        self._searched.find(text, backward)

    def _show_count(self, count: int) -> None:
        words = "1 match" if count == 1 else f"{count} matches"
        self._count.setText(words if count else "No match")
        for button in (self._previous, self._next):
            button.setEnabled(count > 0)

    def _text_changed(self, text: str) -> None:
        self._delay.start()
        if not text:
            self._count.clear()

    def event(self, event: QEvent) -> bool:
        """Esc closes the bar before it stops an answer."""
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() == Qt.Key.Key_Escape
        ):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_bar()
        elif event.key() in _ENTER_KEYS and self.field.hasFocus():
            self._find(bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        else:
            super().keyPressEvent(event)


def _button(sign: str, name: str, keys: str) -> QToolButton:
    button = QToolButton()
    button.setText(sign)
    button.setAutoRaise(True)
    button.setAccessibleName(name)
    button.setToolTip(f"{name} ({keys})")
    # tool buttons are left out of the tab order by some styles
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    return button
