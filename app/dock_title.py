"""The title of a panel, in the size of all other text; Fusion's own stays small."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QHBoxLayout, QToolButton, QWidget

from app.elided_label import ElidedLabel


class DockTitle(QWidget):
    """Drag it to move the panel; the buttons detach and hide it."""

    def __init__(self, dock: QDockWidget) -> None:
        super().__init__(dock)
        label, title = ElidedLabel(), dock.windowTitle()
        label.setText(title)
        detach = _button("❐", f"Detach or attach the panel “{title}”")
        detach.clicked.connect(lambda: dock.setFloating(not dock.isFloating()))
        hide = _button("✕", f"Hide the panel “{title}”")
        hide.clicked.connect(dock.close)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 2, 4, 2)
        layout.addWidget(label, 1)
        layout.addWidget(detach)
        layout.addWidget(hide)


def _button(sign: str, name: str) -> QToolButton:
    button = QToolButton()
    button.setText(sign)
    button.setAutoRaise(True)
    button.setAccessibleName(name)
    button.setToolTip(name)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button
