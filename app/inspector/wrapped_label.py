"""Labels of several lines with a name for screen readers."""

from __future__ import annotations

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel

from app.inspector.figures import unbroken


class FigureLabel(QLabel):
    """Sentences with figures, whose units stay with them; wraps at any width."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setWordWrap(True)
        self.setAccessibleName(name)
        self._words = ""

    @property
    def words(self) -> str:
        """As they were said."""
        return self._words

    def say(self, words: str) -> None:
        """Show these."""
        self._words = words
        self.setText(unbroken(words))


class SteadyLabel(FigureLabel):
    """Never gets lower at one width: what stands below must not jump, nor be laid out, each time."""

    def say(self, words: str) -> None:
        if words != self.words:
            super().say(words)
            self._keep_height()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.setMinimumHeight(0)
            self._keep_height()

    def _keep_height(self) -> None:
        self.setMinimumHeight(max(self.minimumHeight(), self.heightForWidth(self.width())))


def wrapped_label(name: str) -> QLabel:
    """For rich text; empty, wraps at any width."""
    label = QLabel()
    label.setWordWrap(True)
    label.setAccessibleName(name)
    return label
