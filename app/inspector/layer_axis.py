"""Bars over expert layers, and the labels of their axis: as many as there is room for."""

from __future__ import annotations

import math

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtGui import QFontMetrics

from app.inspector.expert_grid import label_step, tick_labels

_BAR_WIDTH = 0.8
_STEPS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)


def prepare_layer_plot(item: pg.PlotItem, label: str) -> None:
    """A plot that shows what it is given: no menu, no mouse, layers below, `label` at its side."""
    item.setMenuEnabled(False)
    item.hideButtons()
    item.setMouseEnabled(x=False, y=False)
    item.setLabel("left", label)
    item.getAxis("bottom").setStyle(hideOverlappingLabels=False)


def empty_bars() -> pg.BarGraphItem:
    """Bars for `stack_bars`."""
    return pg.BarGraphItem(x=[], y0=[], height=[], width=_BAR_WIDTH)


def show_range(item: pg.PlotItem, n_layers: int, low: float, high: float) -> None:
    """All layers across, `low` to `high` upwards."""
    item.setXRange(0, max(1, n_layers), padding=0)
    item.setYRange(low, high, padding=0)


def steady_top(shown: float, highest: float) -> float:
    """Where an axis should end that must reach `highest`; as `shown` until that is too low or twice too high.

    An axis costs more to draw than all its bars, and one that moves all the time can't be read.
    """
    if highest <= shown <= 2 * highest:
        return shown
    if highest <= 0:
        return 1.0
    unit: float = 10.0 ** math.floor(math.log10(highest))
    return next(step * unit for step in _STEPS if step * unit >= highest)


def place_layer_ticks(item: pg.PlotItem, layers: tuple[int, ...], metrics: QFontMetrics) -> None:
    """Put layer numbers under a plot whose place i spans i to i + 1."""
    width = item.getViewBox().width() / max(1, len(layers))
    step = label_step(width, metrics.horizontalAdvance("0000"))
    item.getAxis("bottom").setTicks([tick_labels(layers, 0, len(layers), step)])


def stack_bars(bars: pg.BarGraphItem, floor: NDArray[np.float64], heights: NDArray[np.float64]) -> None:
    """One bar per layer on `floor`; nothing is drawn, and no time spent, where all are 0."""
    bars.setVisible(bool(heights.any()))
    if bars.isVisible():
        bars.setOpts(x=np.arange(len(heights)) + 0.5, y0=floor, height=heights, width=_BAR_WIDTH)
