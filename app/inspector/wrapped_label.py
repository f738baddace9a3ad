"""Labels of several lines with a name for screen readers."""

from __future__ import annotations

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


def wrapped_label(name: str) -> QLabel:
    """For rich text; empty, wraps at any width."""
    label = QLabel()
    label.setWordWrap(True)
    label.setAccessibleName(name)
    return label
