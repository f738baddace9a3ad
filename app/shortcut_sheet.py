"""A sheet of keyboard shortcuts that scrolls where the text is large."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QDialog, QDialogButtonBox, QTextBrowser, QVBoxLayout, QWidget

_WIDTH_CHARACTERS, _HEIGHT_LINES = 62, 26


class ShortcutSheet(QDialog):
    """Shows (what it does, keys) pairs."""

    def __init__(self, shortcuts: Sequence[tuple[str, str]], parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keyboard shortcuts")
        text = QTextBrowser()
        text.setAccessibleName("Keyboard shortcuts")
        rows = "".join(
            f"<tr><td style='padding-right:24px'>{action}</td><td><b>{keys}</b></td></tr>"
            for action, keys in shortcuts
        )
        text.setHtml(f"<table cellspacing='3'>{rows}</table>")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(text)
        layout.addWidget(buttons)
        metrics, room = self.fontMetrics(), parent.screen().availableGeometry()
        self.resize(
            min(metrics.averageCharWidth() * _WIDTH_CHARACTERS, room.width()),
            min(metrics.lineSpacing() * _HEIGHT_LINES, round(room.height() * 0.9)),
        )
