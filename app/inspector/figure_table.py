"""A small table of words and figures that wraps at any text size."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget


class FigureTable(QWidget):
    """Rows of text under a heading; the first column names the row.

    Plain labels that are kept and only written when their text differs: one rich-text table took ten times
    as long per refresh.
    """

    def __init__(self, name: str, heading: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setVerticalSpacing(2)
        self._grid.setColumnStretch(0, 1)
        self._columns = len(heading)
        self._cells: list[list[QLabel]] = []
        self._rows: tuple[tuple[str, ...], ...] = ()
        self._add_heading(heading)

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """All rows below the heading."""
        return self._rows

    def show_rows(self, rows: Sequence[Sequence[str]]) -> None:
        """Replace the figures; labels are made only when there are more rows than ever before."""
        self._rows = tuple(tuple(row) for row in rows)
        while len(self._cells) < len(rows):
            self._cells.append([self._add_label(len(self._cells) + 1, i, 1) for i in range(self._columns)])
        for labels, row in zip(self._cells, self._rows, strict=False):
            for label, text in zip(labels, row, strict=True):
                if label.text() != text:
                    label.setText(text)

    def _add_heading(self, heading: Sequence[str]) -> None:
        titles = [title for title in heading if title]
        for column, title in enumerate(titles):
            label = self._add_label(0, column, self._columns if len(titles) == 1 else 1)
            font = label.font()
            font.setBold(True)
            label.setFont(font)
            label.setText(title)

    def _add_label(self, row: int, column: int, span: int) -> QLabel:
        label = QLabel()
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        side = Qt.AlignmentFlag.AlignRight if column else Qt.AlignmentFlag.AlignLeft
        label.setAlignment(side | Qt.AlignmentFlag.AlignTop)
        self._grid.addWidget(label, row, column, 1, span)
        return label
