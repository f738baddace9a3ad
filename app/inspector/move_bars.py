"""Bars per layer: what came into memory or rose to the hot zone (up), and what fell or was evicted (down)."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from app.expert_moves import MOVES, Move
from app.inspector.layer_axis import (
    empty_bars,
    place_layer_ticks,
    prepare_layer_plot,
    show_range,
    stack_bars,
    steady_top,
)
from app.inspector.plot_frame import PlotFrame
from app.inspector.plot_theme import PlotColours, apply_axes_theme

_IS_UP = {Move.LOADED: True, Move.PROMOTED: True, Move.DEMOTED: False, Move.EVICTED: False}
_LEAST_TOP = 4


class MoveBars(PlotFrame):
    """One bar up and one down per MoE layer."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._plot = pg.PlotWidget()
        super().__init__(self._plot, 9, parent)
        self._plot.setAccessibleName("Experts that moved in the last 2 s, per layer")
        self._layers: tuple[int, ...] = ()
        self._bars = {move: empty_bars() for move in MOVES}
        item = self._plot.getPlotItem()
        prepare_layer_plot(item, "Moved in 2 s")
        item.setLabel("bottom", "Layer")
        for bars in self._bars.values():
            item.addItem(bars)
        item.getViewBox().sigResized.connect(self._place_ticks)
        self.update_theme()

    def draw(self, counts: NDArray[np.int64], layers: tuple[int, ...]) -> None:
        """Show counts, shape (MOVES, moe layers)."""
        ends = {True: np.zeros(len(layers)), False: np.zeros(len(layers))}
        for move, heights in zip(MOVES, counts, strict=True):
            is_up = _IS_UP[move]
            signed = heights if is_up else -heights
            stack_bars(self._bars[move], ends[is_up], signed.astype(np.float64))
            ends[is_up] = ends[is_up] + signed
        top = max(_LEAST_TOP, ends[True].max(initial=0), -ends[False].min(initial=0))
        plot = self._plot.getPlotItem()
        top = steady_top(float(plot.getViewBox().viewRange()[1][1]), float(top))
        show_range(plot, len(layers), -top, top)
        if layers != self._layers:
            self._layers = layers
            self._place_ticks()

    def _place_ticks(self) -> None:
        place_layer_ticks(self._plot.getPlotItem(), self._layers, self.fontMetrics())

    def apply_theme(self, colours: PlotColours) -> None:
        apply_axes_theme(self._plot.getPlotItem(), self.palette(), self.font())
        for colour, bars in zip(colours.moves, self._bars.values(), strict=True):
            bars.setOpts(brush=QColor(colour), pen=None)
        self._place_ticks()
