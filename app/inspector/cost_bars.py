"""Stacked bars per layer: computing, waiting for the disk, waiting for the link, our own work; and misses."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

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
from app.layer_costs import TIMES


class CostBars(PlotFrame):
    """Two plots above each other with the layers as their axis."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._layout = pg.GraphicsLayoutWidget()
        super().__init__(self._layout, 20, parent)
        self.setAccessibleName("What each layer cost")
        self._layers: tuple[int, ...] = ()
        self._times = self._add_plot(0, "Time", "ms")
        self._misses = self._add_plot(1, "Misses", "")
        self._layout.ci.layout.setRowStretchFactor(0, 2)
        self._bars = {name: empty_bars() for name in TIMES}
        self._miss_bars = empty_bars()
        for bars in self._bars.values():
            self._times.addItem(bars)
        self._misses.addItem(self._miss_bars)
        self._misses.setLabel("bottom", "Layer")
        self._times.getViewBox().sigResized.connect(self._place_ticks)
        self.update_theme()

    def _add_plot(self, row: int, title: str, units: str) -> pg.PlotItem:
        plot = self._layout.addPlot(row=row, col=0)
        prepare_layer_plot(plot, f"{title} ({units})" if units else title)
        return plot

    def draw(self, totals: NDArray[np.int64], layers: tuple[int, ...]) -> None:
        """Show costs, shape (COSTS, moe layers)."""
        floor = np.zeros(len(layers))
        for name, nanoseconds in zip(TIMES, totals, strict=False):
            heights = nanoseconds / 1e6
            stack_bars(self._bars[name], floor, heights)
            floor = floor + heights
        misses = totals[len(TIMES)]
        stack_bars(self._miss_bars, np.zeros(len(layers)), misses.astype(np.float64))
        for plot, highest in ((self._times, floor.max(initial=0)), (self._misses, misses.max(initial=0))):
            shown = float(plot.getViewBox().viewRange()[1][1])
            show_range(plot, len(layers), 0, steady_top(shown, float(highest)))
        if layers != self._layers:
            self._layers = layers
            self._place_ticks()

    def _place_ticks(self) -> None:
        for plot in (self._times, self._misses):
            place_layer_ticks(plot, self._layers, self.fontMetrics())

    def apply_theme(self, colours: PlotColours) -> None:
        for plot in (self._times, self._misses):
            apply_axes_theme(plot, self.palette(), self.font())
            # one width, so that a layer stands above itself
            plot.getAxis("left").setWidth(int(self.fontMetrics().height() * 4))
        for name, colour in cost_colours(colours).items():
            self._bars[name].setOpts(brush=QColor(colour), pen=None)
        self._miss_bars.setOpts(brush=QColor(colours.wait), pen=None)
        self._place_ticks()


def cost_colours(colours: PlotColours) -> dict[str, str]:
    """Colour per kind of time, as in the time view."""
    own = colours.phases[0]
    return dict(zip(TIMES, (colours.compute, colours.wait, colours.link, own), strict=True))
