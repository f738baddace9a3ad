"""A line of news above the page, with one action to take and a way to dismiss it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QToolButton, QWidget


class NoticeBar(QFrame):
    """Shows the latest notice only; hidden while there is none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self._label = QLabel()
        self._label.setWordWrap(True)
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._label.setAccessibleName("Notice")
        self._button = QPushButton("Undo")
        self._button.clicked.connect(self._act)
        self._close = QToolButton()
        self._close.setText("✕")
        self._close.setAutoRaise(True)
        self._close.setAccessibleName("Dismiss the notice")
        self._close.setToolTip("Dismiss")
        self._close.clicked.connect(self.dismiss)
        self._action: Callable[[], None] | None = None
        layout = QHBoxLayout(self)
        layout.addWidget(self._label, 1)
        layout.addWidget(self._button)
        layout.addWidget(self._close)
        self.hide()

    @property
    def text(self) -> str:
        return self._label.text()

    def show_notice(self, text: str, action_text: str = "", action: Callable[[], None] | None = None) -> None:
        """Replace what is shown."""
        self._label.setText(text)
        if action_text:
            self._button.setText(action_text)
        self._button.setVisible(bool(action_text))
        self._action = action
        self.show()
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self._label, text))

    def dismiss(self) -> None:
        """Hide it and forget its action."""
        self._action = None
        self.hide()

    def _act(self) -> None:
        action = self._action
        self.dismiss()
        if action is not None:
            action()
