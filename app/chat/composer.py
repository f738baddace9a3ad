"""Where messages are written: Enter sends, Shift+Enter breaks the line, input methods are left alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QPlainTextEdit, QWidget

_LEAST_LINES, _MOST_LINES = 2, 10
_ENTER_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_HINT = "Write a message. Enter sends it, Shift+Enter starts a new line."
_CTRL_HINT = "Write a message. Ctrl+Enter sends it, Enter starts a new line."


class Composer(QPlainTextEdit):
    """Emits `submitted` when the text should be sent; the owner clears it once the message is safe.

    `sends_with_ctrl` is asked at each Enter: True leaves plain Enter to the text. Dropped and pasted files
    come by `files_given`. Grows with its text up to a third of its window.
    """

    submitted = Signal()
    files_given = Signal(list)

    def __init__(
        self, parent: QWidget | None = None, sends_with_ctrl: Callable[[], bool] = lambda: False
    ) -> None:
        super().__init__(parent)
        self._sends_with_ctrl = sends_with_ctrl
        self.setAccessibleName("Message")
        self.setTabChangesFocus(True)
        self.show_hint()
        self.textChanged.connect(self.fit_height)
        self.fit_height()

    @property
    def is_composing(self) -> bool:
        """Whether an input method holds text that is not committed yet."""
        return bool(self.textCursor().block().layout().preeditAreaText())

    def submit(self) -> None:
        """Offer the text, unless it is still being composed; the owner decides about blank text."""
        if not self.is_composing:
            self.submitted.emit()

    def show_hint(self) -> None:
        """Say which key sends."""
        self.setPlaceholderText(_CTRL_HINT if self._sends_with_ctrl() else _HINT)

    # --- keys ---------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() not in _ENTER_KEYS:
            super().keyPressEvent(event)
        elif self.is_composing:
            # Enter belongs to the input method; the base class would break the line
            event.accept()
        elif self._is_sending(event.modifiers()):
            event.accept()
            self.submit()
        else:
            event.accept()
            self.insertPlainText("\n")
            self.ensureCursorVisible()

    def _is_sending(self, modifiers: Qt.KeyboardModifier) -> bool:
        if modifiers & Qt.KeyboardModifier.ShiftModifier:
            return False
        has_ctrl = bool(modifiers & Qt.KeyboardModifier.ControlModifier)
        return has_ctrl or not self._sends_with_ctrl()

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.show_hint()
        super().focusInEvent(event)

    # --- files --------------------------------------------------------------------------------

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        """A dropped model belongs to the window, not into the text."""
        return not has_model_file(source) and (
            bool(text_files(source)) or super().canInsertFromMimeData(source)
        )

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Files become attachments, everything else plain text."""
        if has_model_file(source):
            return
        files = text_files(source)
        if files:
            self.files_given.emit(files)
        else:
            super().insertFromMimeData(source)

    # --- height -------------------------------------------------------------------------------

    def fit_height(self) -> None:
        """As high as the text needs, within its limits."""
        line_pixels = self.fontMetrics().lineSpacing()
        margins = 2 * (self.frameWidth() + round(self.document().documentMargin()))
        least = _LEAST_LINES * line_pixels + margins
        wanted = round(self.document().size().height()) * line_pixels + margins
        most = max(least, self._most_pixels(line_pixels, margins))
        # lines may be a fraction of a pixel higher than said, which must not bring the bar
        is_long = wanted > most
        policies = Qt.ScrollBarPolicy
        self.setVerticalScrollBarPolicy(
            policies.ScrollBarAsNeeded if is_long else policies.ScrollBarAlwaysOff
        )
        self.setFixedHeight(max(least, min(wanted, most)))

    def _most_pixels(self, line_pixels: int, margins: int) -> int:
        window = self.window()
        return _MOST_LINES * line_pixels + margins if window is self else window.height() // 3

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.fit_height()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        self.fit_height()


def has_model_file(source: QMimeData) -> bool:
    """Whether something dropped is a GGUF file."""
    return any(url.toLocalFile().lower().endswith(".gguf") for url in source.urls())


def text_files(source: QMimeData) -> list[Path]:
    """Local files of a drop or paste, none if one of them is a model."""
    files = [Path(url.toLocalFile()) for url in source.urls() if url.isLocalFile()]
    return [] if has_model_file(source) else files
