"""Buttons at the foot of a dialog, without the icons some systems add: those are dark in the dark scheme."""

from __future__ import annotations

from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QDialog, QDialogButtonBox


def dialog_buttons(dialog: QDialog, kinds: QDialogButtonBox.StandardButton) -> QDialogButtonBox:
    """They accept or reject the dialog."""
    box = QDialogButtonBox(kinds)
    for button in box.buttons():
        button.setIcon(QIcon())
    box.accepted.connect(dialog.accept)
    box.rejected.connect(dialog.reject)
    return box
