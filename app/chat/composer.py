"""Where messages are written: Enter sends, Shift+Enter breaks the line, input methods are left alone."""

from __future__ import annotations

from PySide6.QtCore import QMimeData, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QPlainTextEdit, QWidget

_LEAST_LINES, _MOST_LINES = 2, 10
_ENTER_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class Composer(QPlainTextEdit):
    """Emits `submitted` with the text; the owner clears it once the message is safe."""

    submitted = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Message")
        self.setPlaceholderText("Write a message. Enter sends it, Shift+Enter starts a new line.")
        self.setTabChangesFocus(True)
        self.textChanged.connect(self._fit_height)
        self._fit_height()

    @property
    def is_composing(self) -> bool:
        """Whether an input method holds text that is not committed yet."""
        return bool(self.textCursor().block().layout().preeditAreaText())

    def submit(self) -> None:
        """Offer the text, unless it is blank or still being composed."""
        text = self.toPlainText()
        if text.strip() and not self.is_composing:
            self.submitted.emit(text)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() not in _ENTER_KEYS or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            super().keyPressEvent(event)
            return
        # while composing, Enter belongs to the input method; the base class would break the line
        event.accept()
        self.submit()

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        """A dropped model belongs to the window, not into the text."""
        return super().canInsertFromMimeData(source) and not has_model_file(source)

    def _fit_height(self) -> None:
        lines = min(max(self.document().size().height(), _LEAST_LINES), _MOST_LINES)
        margins = 2 * (self.frameWidth() + round(self.document().documentMargin()))
        self.setFixedHeight(round(lines * self.fontMetrics().lineSpacing()) + margins)

    def changeEvent(self, event: object) -> None:
        super().changeEvent(event)  # type: ignore[arg-type] # the stub wants QEvent, which it is
        self._fit_height()


def has_model_file(source: QMimeData) -> bool:
    """Whether something dropped is a GGUF file."""
    return any(url.toLocalFile().lower().endswith(".gguf") for url in source.urls())
