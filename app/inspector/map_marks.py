"""What is drawn over the heat map: outlines of pool and hot zone, and the line at half of the picks."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QRectF

from app.inspector.expert_grid import outline_lines
from engine.placement.tier import Tier

POOL_COLOUR = "#ffffff"
HOT_COLOUR = "#ff7b00"
HALF_COLOUR = "#ff4fd8"
_LEAST_PIXELS = 8.0  # smaller places would be little but outline


class MapMarks:
    """Curves in `view`, in columns and rows; only places on the screen and large enough are outlined."""

    def __init__(self, view: pg.ViewBox) -> None:
        self._view = view
        self._tiers = np.zeros((0, 0), np.uint8)
        self._pool = _curve(view, POOL_COLOUR, 2)
        self._hot = _curve(view, HOT_COLOUR, 2)
        self._half = _curve(view, HALF_COLOUR, 1)

    @property
    def outlined_lines(self) -> int:
        """Lines of the pool's outline on the screen."""
        return len(self._pool.getData()[0]) // 2 if self._pool.isVisible() else 0

    def mark_tiers(self, tiers: NDArray[np.uint8]) -> None:
        """Where each place's expert is, shape (layers, experts)."""
        self._tiers = tiers
        self.place()

    def mark_half(self, half_counts: NDArray[np.int64] | None) -> None:
        """Experts left of the line take half of their layer's picks; None: not sorted by uses, no line."""
        self._half.setVisible(half_counts is not None)
        if half_counts is not None:
            rows = np.arange(len(half_counts))
            y = np.column_stack((rows, rows + 1)).ravel()
            self._half.setData(np.repeat(half_counts, 2), y, skipFiniteCheck=True)

    def place(self) -> None:
        """Draw anew after a zoom or another size."""
        part, size = self._view.viewRect(), self._view.size()
        width, height = size.width() / max(part.width(), 1e-6), size.height() / max(part.height(), 1e-6)
        is_legible = self._tiers.size > 0 and min(width, height) >= _LEAST_PIXELS
        for curve, least in ((self._pool, Tier.HOST_POOL), (self._hot, Tier.HOT)):
            curve.setVisible(is_legible)
            if is_legible:
                self._outline(curve, least, part)

    def _outline(self, curve: pg.PlotCurveItem, least: Tier, part: QRectF) -> None:
        top, left = max(0, int(part.top())), max(0, int(part.left()))
        shown = self._tiers[top : int(part.bottom()) + 1, left : int(part.right()) + 1]
        x, y = outline_lines(shown >= least, top, left)
        curve.setData(x, y, connect="pairs", skipFiniteCheck=True)


def _curve(view: pg.ViewBox, colour: str, width: int) -> pg.PlotCurveItem:
    curve = pg.PlotCurveItem(pen=pg.mkPen(colour, width=width))
    view.addItem(curve, ignoreBounds=True)
    return curve
