"""Asks for a short name: of a preset, of a folder."""

from __future__ import annotations

from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QVBoxLayout, QWidget

from app.dialog_buttons import dialog_buttons
from app.text_field import TextField

_MOST_CHARACTERS = 80


class NameDialog(QDialog):
    """After `accepted`, `name` is not blank."""

    def __init__(self, title: str, question: str, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.field = TextField(question)
        self.field.setMaxLength(_MOST_CHARACTERS)
        self.field.setText(name)
        self.field.selectAll()
        label = QLabel(question)
        label.setBuddy(self.field)
        kinds = QDialogButtonBox.StandardButton
        buttons = dialog_buttons(self, kinds.Ok | kinds.Cancel)
        self._ok = buttons.button(kinds.Ok)
        self.field.textChanged.connect(self._text_changed)
        layout = QVBoxLayout(self)
        for widget in (label, self.field, buttons):
            layout.addWidget(widget)
        self._text_changed()

    @property
    def name(self) -> str:
        return " ".join(self.field.text().split())

    def _text_changed(self) -> None:
        self._ok.setEnabled(bool(self.name))
