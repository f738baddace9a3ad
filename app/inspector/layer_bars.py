"""Stacked bars: how many experts of each layer are in memory, tier by tier, against the pool's slots."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from app.inspector.layer_axis import empty_bars, place_layer_ticks, prepare_layer_plot, show_range, stack_bars
from app.inspector.plot_frame import PlotFrame
from app.inspector.plot_theme import PlotColours, apply_axes_theme
from app.inspector.slot_figures import MEMORY_TIERS, LayerFigures


class LayerBars(PlotFrame):
    """One bar per MoE layer, the quickest memory at the axis.

    A line marks the slots that belong to the layer for good, a dotted one those of its hot zone.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        self._plot = pg.PlotWidget()
        super().__init__(self._plot, 13, parent)
        self._plot.setAccessibleName("Experts in memory per layer")
        self._layers: tuple[int, ...] = ()
        self._bars = {tier: empty_bars() for tier in MEMORY_TIERS}
        self._pool_line, self._hot_line = (
            pg.PlotCurveItem(x=[0, 1], y=[0], stepMode="center") for _ in range(2)
        )
        self._build_plot()
        self.update_theme()

    def _build_plot(self) -> None:
        item = self._plot.getPlotItem()
        prepare_layer_plot(item, "Experts in memory")
        item.setLabel("bottom", "Layer")
        for graphic in (*self._bars.values(), self._pool_line, self._hot_line):
            item.addItem(graphic)
        item.getViewBox().sigResized.connect(self._place_ticks)

    def draw(self, figures: LayerFigures) -> None:
        floor = np.zeros(len(figures.layers))
        for tier, heights in figures.experts.items():
            stack_bars(self._bars[tier], floor, heights.astype(np.float64))
            floor = floor + heights
        edges = np.arange(len(floor) + 1)
        self._pool_line.setData(edges, figures.pool_slots)
        self._hot_line.setData(edges, figures.hot_slots)
        self._hot_line.setVisible(bool(figures.hot_slots.any()))
        top = max(float(floor.max(initial=0)), float(figures.pool_slots.max(initial=0)), 1.0)
        show_range(self._plot.getPlotItem(), len(floor), 0, top * 1.05)
        if figures.layers != self._layers:
            self._layers = figures.layers
            self._place_ticks()

    def _place_ticks(self) -> None:
        place_layer_ticks(self._plot.getPlotItem(), self._layers, self.fontMetrics())

    def apply_theme(self, colours: PlotColours) -> None:
        apply_axes_theme(self._plot.getPlotItem(), self.palette(), self.font())
        for tier, bars in self._bars.items():
            bars.setOpts(brush=QColor(colours.tiers[tier]), pen=None)
        text = self.palette().text().color()
        self._pool_line.setPen(pg.mkPen(text, width=2))
        self._hot_line.setPen(pg.mkPen(text, width=2, style=Qt.PenStyle.DotLine))
        self._place_ticks()
