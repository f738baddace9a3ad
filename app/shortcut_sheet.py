"""A sheet of keyboard shortcuts that scrolls where the text is large."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from PySide6.QtWidgets import QDialog, QDialogButtonBox, QTextBrowser, QVBoxLayout, QWidget

from app.dialog_buttons import dialog_buttons

_WIDTH_CHARACTERS, _HEIGHT_LINES = 66, 30
ShortcutGroup = tuple[str, Sequence[tuple[str, str]]]


class ShortcutSheet(QDialog):
    """Shows groups of (what it does, keys) pairs under their headings."""

    def __init__(self, groups: Sequence[ShortcutGroup], parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keyboard shortcuts")
        text = QTextBrowser()
        text.setAccessibleName("Keyboard shortcuts")
        text.setHtml("".join(_group_html(title, pairs) for title, pairs in groups if pairs))
        buttons = dialog_buttons(self, QDialogButtonBox.StandardButton.Close)
        layout = QVBoxLayout(self)
        layout.addWidget(text)
        layout.addWidget(buttons)
        metrics, room = self.fontMetrics(), parent.screen().availableGeometry()
        self.resize(
            min(metrics.averageCharWidth() * _WIDTH_CHARACTERS, round(room.width() * 0.9)),
            min(metrics.lineSpacing() * _HEIGHT_LINES, round(room.height() * 0.9)),
        )


def _group_html(title: str, pairs: Sequence[tuple[str, str]]) -> str:
    rows = "".join(
        f"<tr><td style='padding-right:24px'>{escape(text)}</td><td><b>{escape(keys)}</b></td></tr>"
        for text, keys in pairs
    )
    return f"<h3>{escape(title)}</h3><table cellspacing='3' width='100%'>{rows}</table>"
