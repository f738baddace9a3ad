"""A small table of words and figures that keeps its labels between refreshes."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget


class FigureTable(QWidget):
    """Rows of text; the first row is the heading, the first column names the row."""

    def __init__(self, name: str, heading: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(12)
        self._grid.setColumnStretch(0, 1)
        self._cells: list[list[QLabel]] = []
        self._columns = len(heading)
        self._add_row()
        self._set_row(0, [f"<b>{words}</b>" for words in heading])

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        """All rows below the heading."""
        return tuple(tuple(label.text() for label in row) for row in self._cells[1:])

    def show_rows(self, rows: Sequence[Sequence[str]]) -> None:
        """Replace the figures; labels are made only when there are more rows than ever before."""
        while len(self._cells) <= len(rows):
            self._add_row()
        for index, row in enumerate(rows, start=1):
            self._set_row(index, row)
        for row_labels in self._cells[len(rows) + 1 :]:
            for label in row_labels:
                label.setText("")

    def _add_row(self) -> None:
        labels = []
        for column in range(self._columns):
            label = QLabel()
            label.setWordWrap(column == 0)
            side = Qt.AlignmentFlag.AlignLeft if column == 0 else Qt.AlignmentFlag.AlignRight
            label.setAlignment(side | Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(label, len(self._cells), column)
            labels.append(label)
        self._cells.append(labels)

    def _set_row(self, index: int, texts: Sequence[str]) -> None:
        for label, text in zip(self._cells[index], texts, strict=True):
            label.setText(text)
