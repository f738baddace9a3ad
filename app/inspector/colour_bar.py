"""Legend of the heat map: the colours with the figures at both ends."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget


class _Strip(QWidget):
    """The colour table as a horizontal strip."""

    def __init__(self, table: NDArray[np.uint8]) -> None:
        super().__init__()
        row = np.ascontiguousarray(table[None, :, :3])
        self._image = QImage(row.data, row.shape[1], 1, row.nbytes, QImage.Format.Format_RGB888).copy()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.drawImage(self.rect(), self._image)
        painter.end()


class ColourBar(QWidget):
    """`table`: colour per step, shape (256, 3)."""

    def __init__(self, table: NDArray[np.uint8], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = QLabel()
        self._title.setWordWrap(True)
        self._hottest = QLabel()
        scale = QHBoxLayout()
        scale.addWidget(QLabel("0"))
        scale.addWidget(_Strip(table), 1)
        scale.addWidget(self._hottest)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._title)
        layout.addLayout(scale)

    @property
    def words(self) -> str:
        """Title and top figure."""
        return f"{self._title.text()}: 0 to {self._hottest.text()}"

    def show_scale(self, title: str, hottest: float) -> None:
        self._title.setText(title)
        self._hottest.setText(f"{hottest:,.0f}" if hottest == int(hottest) else f"{hottest:,.1f}")
        self.setAccessibleName(self.words)
