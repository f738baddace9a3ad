"""Stacked bars: how many experts of each layer are in memory, tier by tier, against the pool's slots."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from app.inspector.expert_grid import label_step, tick_labels
from app.inspector.plot_frame import PlotFrame
from app.inspector.plot_theme import PlotColours, apply_axes_theme
from app.inspector.slot_figures import LayerFigures
from engine.placement.tier import Tier

STACK = (Tier.VRAM, Tier.HOST_POOL, Tier.HOST_WINDOW)  # from the axis up


class LayerBars(PlotFrame):
    """One bar per MoE layer; the line marks the slots that belong to the layer for good."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._plot = pg.PlotWidget()
        super().__init__(self._plot, 13, parent)
        self._plot.setAccessibleName("Experts in memory per layer")
        self._layers: tuple[int, ...] = ()
        self._bars = {tier: pg.BarGraphItem(x=[], y0=[], height=[], width=0.8) for tier in STACK}
        self._pool_line = pg.PlotCurveItem(x=[0, 1], y=[0], stepMode="center")
        self._build_plot()
        self.update_theme()

    def _build_plot(self) -> None:
        item = self._plot.getPlotItem()
        item.setMenuEnabled(False)
        item.hideButtons()
        item.setMouseEnabled(x=False, y=False)
        item.setLabel("left", "Experts in memory")
        item.setLabel("bottom", "Layer")
        item.getAxis("bottom").setStyle(hideOverlappingLabels=False)
        for graphic in (*self._bars.values(), self._pool_line):
            item.addItem(graphic)
        item.getViewBox().sigResized.connect(self._place_ticks)

    def draw(self, figures: LayerFigures) -> None:
        places = np.arange(len(figures.layers)) + 0.5
        floor = np.zeros(len(places))
        for tier, heights in zip(STACK, (figures.vram, figures.pool, figures.window), strict=True):
            self._bars[tier].setOpts(x=places, y0=floor, height=heights, width=0.8)
            floor = floor + heights
        self._pool_line.setData(np.arange(len(places) + 1), figures.pool_slots)
        top = max(float(floor.max(initial=0)), float(figures.pool_slots.max(initial=0)), 1.0)
        self._plot.setXRange(0, max(1, len(places)), padding=0)
        self._plot.setYRange(0, top * 1.05, padding=0)
        if figures.layers != self._layers:
            self._layers = figures.layers
            self._place_ticks()

    def _place_ticks(self) -> None:
        item = self._plot.getPlotItem()
        widest = self.fontMetrics().horizontalAdvance("0000")
        step = label_step(item.getViewBox().width() / max(1, len(self._layers)), widest)
        item.getAxis("bottom").setTicks([tick_labels(self._layers, 0, len(self._layers), step)])

    def apply_theme(self, colours: PlotColours) -> None:
        apply_axes_theme(self._plot.getPlotItem(), self.palette(), self.font())
        for tier, bars in self._bars.items():
            bars.setOpts(brush=QColor(colours.tiers[tier]), pen=None)
        self._pool_line.setPen(pg.mkPen(self.palette().text().color(), width=2))
        self._place_ticks()
