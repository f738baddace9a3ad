"""Writes a Markdown table as a table."""

from __future__ import annotations

from collections.abc import Sequence

from markdown_it.token import Token
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextBlockFormat, QTextFrameFormat, QTextTable, QTextTableFormat

from app.chat.block_pen import BlockPen
from app.chat.inline_styles import PLAIN, InlineStyles, Look
from app.chat.inline_writer import InlineWriter

INDENT_PIXELS = 24
_ALIGNMENTS = {
    "text-align:right": Qt.AlignmentFlag.AlignRight,
    "text-align:center": Qt.AlignmentFlag.AlignHCenter,
}
_HEAD = Look(is_bold=True)


class TableWriter:
    """GUI thread."""

    def __init__(self, pen: BlockPen, styles: InlineStyles, inline: InlineWriter) -> None:
        self._pen = pen
        self._styles = styles
        self._inline = inline

    def write(self, tokens: Sequence[Token], depth: int, left_pixels: int) -> None:
        """The tokens from `table_open` on; every row has as many cells as the first."""
        rows = _rows(tokens)
        table = self._pen.table(len(rows), len(rows[0]), self._format(depth, left_pixels))
        for number, row in enumerate(rows):
            for column, (cell, inline) in enumerate(row):
                self._cell(table, number, column, cell, inline)

    def _format(self, depth: int, left_pixels: int) -> QTextTableFormat:
        table_format = QTextTableFormat()
        table_format.setBorder(1)
        table_format.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        table_format.setBorderBrush(self._styles.colours.line)
        table_format.setBorderCollapse(True)
        table_format.setCellPadding(5)
        table_format.setCellSpacing(0)
        table_format.setTopMargin(6)
        table_format.setBottomMargin(8)
        table_format.setLeftMargin(depth * INDENT_PIXELS + left_pixels)
        table_format.setHeaderRowCount(1)
        return table_format

    def _cell(self, table: QTextTable, row: int, column: int, cell: Token, inline: Token) -> None:
        cursor = table.cellAt(row, column).firstCursorPosition()
        alignment = _ALIGNMENTS.get(str(cell.attrs.get("style", "")))
        if alignment is not None:
            block_format = QTextBlockFormat()
            block_format.setAlignment(alignment)
            cursor.setBlockFormat(block_format)
        look = _HEAD if cell.type == "th_open" else PLAIN
        self._inline.write(cursor, inline.children or (), look)


def _rows(tokens: Sequence[Token]) -> list[list[tuple[Token, Token]]]:
    """Opening token and text of every cell."""
    rows: list[list[tuple[Token, Token]]] = []
    for place, token in enumerate(tokens):
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            rows[-1].append((token, tokens[place + 1]))
    return rows
