"""Asks with how much memory and context a model should be loaded."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QDoubleSpinBox,
    QFormLayout,
    QLabel,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from app.composition_guard import CompositionGuard
from app.dialog_buttons import dialog_buttons
from app.models.recent_models import RecentModel
from engine.config import GIB, LoadSettings, format_size
from engine.hardware.memory import available_bytes


class LoadDialog(QDialog):
    """After `accepted`, `settings` holds the choice."""

    def __init__(self, model: RecentModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Load a model")
        self._path = model.path
        self._ram, self._context = _ram_field(), _context_field()
        for field in (self._ram, self._context):
            CompositionGuard(field)
        self._ram.setValue((model.ram_budget_bytes or 0) / GIB)
        self._context.setValue(model.context_tokens or 0)
        self._build_layout()

    def _build_layout(self) -> None:
        file = QLabel(file_words(self._path))
        free = QLabel(f"{format_size(available_bytes())} of memory are available now.")
        for label in (file, free):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
        form = QFormLayout()
        form.addRow("&Memory for the model", self._ram)
        form.addRow("&Context", self._context)
        kinds = QDialogButtonBox.StandardButton
        buttons = dialog_buttons(self, kinds.Open | kinds.Cancel)
        buttons.button(kinds.Open).setText("Load")
        layout = QVBoxLayout(self)
        layout.addWidget(file)
        layout.addLayout(form)
        layout.addWidget(free)
        layout.addWidget(buttons)
        self._ram.setFocus()

    @property
    def settings(self) -> LoadSettings:
        """What to load; 0 in a field means automatic."""
        return LoadSettings(
            self._path,
            ram_budget_bytes=round(self._ram.value() * GIB) or None,
            context_tokens=self._context.value() or None,
        )


def file_words(path: Path) -> str:
    """Name, size and place of a file; the loader says what is wrong with one that can't be read."""
    try:
        size = f" ({format_size(path.stat().st_size)})"
    except OSError:
        size = ""
    return f"{path.name}{size}\nin {path.parent}"


def _ram_field() -> QDoubleSpinBox:
    field = QDoubleSpinBox()
    field.setRange(0, 4096)
    field.setSingleStep(0.5)
    field.setDecimals(2)
    field.setSuffix(" GiB")
    field.setSpecialValueText("automatic")
    field.setAccessibleName("Memory for the model")
    field.setToolTip("The program stays within this much memory; automatic fits it to what is available.")
    return field


def _context_field() -> QSpinBox:
    field = QSpinBox()
    field.setRange(0, 1 << 20)
    field.setSingleStep(1024)
    field.setSuffix(" tokens")
    field.setSpecialValueText("automatic")
    field.setAccessibleName("Context window")
    field.setToolTip("How many tokens of conversation the model can look back on.")
    return field
