"""A line of text that is safe for input methods and has a name."""

from __future__ import annotations

from PySide6.QtWidgets import QLineEdit, QToolButton, QWidget

from app.composition_guard import CompositionGuard


class TextField(QLineEdit):
    """`name` is what a screen reader says; `hint` stands in the empty field."""

    def __init__(self, name: str, hint: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setPlaceholderText(hint)
        self._guard = CompositionGuard(self)

    def guard_again(self) -> None:
        """After someone else's event filter was installed: the guard must see keys first."""
        self.installEventFilter(self._guard)

    def offer_clearing(self) -> None:
        """A button in the field that empties it."""
        self.setClearButtonEnabled(True)
        for button in self.findChildren(QToolButton):
            button.setAccessibleName("Clear the field")
            button.setToolTip("Clear")
