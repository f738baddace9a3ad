"""A small table of words and figures in one label, so that it wraps at any text size."""

from __future__ import annotations

import html
from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget


class FigureTable(QLabel):
    """Rows of text under a heading; the first column names the row."""

    def __init__(self, name: str, heading: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setWordWrap(True)
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._heading = tuple(heading)
        self._rows: tuple[tuple[str, ...], ...] = ()

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """All rows below the heading."""
        return self._rows

    def show_rows(self, rows: Sequence[Sequence[str]]) -> None:
        """Replace the figures."""
        self._rows = tuple(tuple(row) for row in rows)
        heading = _row_html("th", self._heading)
        body = "".join(_row_html("td", row) for row in self._rows)
        self.setText(f'<table width="100%" cellpadding="1" cellspacing="2">{heading}{body}</table>')


def _row_html(tag: str, texts: Sequence[str]) -> str:
    cells = (
        f'<{tag} align="{"right" if column else "left"}">{html.escape(text)}</{tag}>'
        for column, text in enumerate(texts)
    )
    return f"<tr>{''.join(cells)}</tr>"
