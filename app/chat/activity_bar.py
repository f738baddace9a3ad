"""One line above the composer: what the engine does for this conversation, and the button to stop it."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget


class ActivityBar(QWidget):
    """Keeps its height while empty, so that the text above never jumps."""

    stop_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._label = QLabel()
        self._label.setWordWrap(True)
        self._label.setAccessibleName("Activity")
        self._stop = QPushButton("Stop")
        self._stop.setToolTip("Stop the answer (Esc)")
        self._stop.clicked.connect(self.stop_wanted)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._label, 1)
        layout.addWidget(self._stop)
        policy = self._stop.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self._stop.setSizePolicy(policy)
        self.show_activity("", can_stop=False)

    @property
    def text(self) -> str:
        return self._label.text()

    @property
    def can_stop(self) -> bool:
        return self._stop.isVisibleTo(self)

    def show_activity(self, text: str, can_stop: bool) -> None:
        """Replace the line."""
        self._label.setText(text)
        self._stop.setVisible(can_stop)
