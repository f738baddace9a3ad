"""A fault in words: what happened, what to do next, technical details folded away."""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget

from app.setting_places import next_step_with_places
from engine.errors import ErrorInfo


class Fault(Protocol):
    """What ErrorInfo, EngineError and HistoryError have in common."""

    @property
    def fault(self) -> str: ...

    @property
    def next_step(self) -> str: ...

    @property
    def detail(self) -> str: ...


def fault_box(fault: Fault, title: str, parent: QWidget | None = None) -> QMessageBox:
    """A dialog for the fault; the caller opens or executes it."""
    box = QMessageBox(QMessageBox.Icon.Warning, title, fault.fault, QMessageBox.StandardButton.Close, parent)
    next_step = next_step_with_places(fault) if isinstance(fault, ErrorInfo) else fault.next_step
    box.setInformativeText(next_step)
    box.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    box.setTextFormat(Qt.TextFormat.PlainText)
    if fault.detail:
        box.setDetailedText(fault.detail)
    return box


def show_fault(fault: Fault, title: str, parent: QWidget) -> None:
    """Open the dialog and return at once."""
    box = fault_box(fault, title, parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.open()
