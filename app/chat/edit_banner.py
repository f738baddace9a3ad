"""Says that an earlier message is being edited, and lets the user leave."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QWidget

_WORDS = "You are editing an earlier message. Sending makes a new version; the old one stays."


class EditBanner(QFrame):
    """Shown only while a message is edited; `cancelled` when the user leaves without sending."""

    cancelled = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        label = QLabel(_WORDS)
        label.setWordWrap(True)
        cancel = QPushButton("Cancel editing")
        cancel.clicked.connect(self.cancelled)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 4, 8, 4)
        layout.addWidget(label, 1)
        layout.addWidget(cancel)
        self.hide()
