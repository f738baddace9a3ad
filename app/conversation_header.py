"""The line above a conversation: its title, what differs from the usual settings, and the way to them."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QWidget

from app.elided_label import ElidedLabel


class ConversationHeader(QFrame):
    """`settings_wanted` asks for the settings of the conversation on the screen."""

    settings_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title, self._state = ElidedLabel(), QLabel()
        self._title.setTextFormat(Qt.TextFormat.PlainText)
        self._title.setAccessibleName("Title of the conversation")
        self._state.setTextFormat(Qt.TextFormat.PlainText)
        self._state.setAccessibleName("Settings of the conversation")
        self._settings = QPushButton("Settings…")
        self._settings.setAccessibleName("Settings of this conversation")
        self._settings.setToolTip("Preset, system prompt and sampling of this conversation (Ctrl+Shift+,)")
        self._settings.setAutoDefault(False)
        self._settings.clicked.connect(self.settings_wanted)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 4, 12, 4)
        layout.addWidget(self._title, 1)
        layout.addWidget(self._state)
        layout.addWidget(self._settings)

    @property
    def words(self) -> tuple[str, str]:
        """Title and state as shown."""
        return self._title.text(), self._state.text()

    def show_conversation(self, title: str, state: str) -> None:
        """`state` in words, empty for nothing unusual."""
        self._title.setText(title)
        self._state.setText(state)
