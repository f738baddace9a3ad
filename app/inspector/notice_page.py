"""A page that shows either its content or a sentence that says why there is none."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QStackedLayout, QWidget


class NoticePage(QWidget):
    """Fill `content`; call `show_notice` with a sentence to cover it, with "" to uncover it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.content = QWidget(self)
        self._notice = QLabel(self)
        self._notice.setWordWrap(True)
        self._notice.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._notice.setMargin(12)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self.content)
        self._stack.addWidget(self._notice)

    @property
    def notice(self) -> str:
        """The sentence shown instead of the content; empty if the content shows."""
        return self._notice.text() if self._stack.currentWidget() is self._notice else ""

    def show_notice(self, sentence: str) -> None:
        self._notice.setText(sentence)
        self._stack.setCurrentWidget(self._notice if sentence else self.content)
