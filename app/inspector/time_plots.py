"""Three plots with one time axis: speed, disk rate, disk wait."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtWidgets import QWidget

from app.counter_rates import RateSeries
from app.inspector.plot_frame import PlotFrame
from app.inspector.plot_theme import PlotColours, apply_axes_theme


class TimePlots(PlotFrame):
    """The axis ends at the newest counter sample; curves are kept and moved."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._layout = pg.GraphicsLayoutWidget()
        super().__init__(self._layout, 22, parent)
        self._layout.setAccessibleName("Speed, disk rate and disk wait over time")
        self._layout.ci.layout.setContentsMargins(0, 4, 8, 0)
        self._speed = self._add_plot(0, "Speed", "tok/s")
        self._disk = self._add_plot(1, "Read", "B/s")
        self._wait = self._add_plot(2, "Wait", "%")
        self._prefill_curve = self._speed.plot(skipFiniteCheck=True)
        self._decode_curve = self._speed.plot(skipFiniteCheck=True)
        self._disk_curve = self._disk.plot(skipFiniteCheck=True)
        self._wait_curve = self._wait.plot(skipFiniteCheck=True)
        self._wait.setYRange(0, 100, padding=0.02)
        self.update_theme()

    def _add_plot(self, row: int, title: str, units: str) -> pg.PlotItem:
        plot = self._layout.addPlot(row=row, col=0)
        plot.setMenuEnabled(False)
        plot.hideButtons()
        plot.setMouseEnabled(x=False, y=False)
        plot.setLabel("left", title, units=units)
        plot.getAxis("left").enableAutoSIPrefix(units == "B/s")
        bottom = plot.getAxis("bottom")
        bottom.enableAutoSIPrefix(False)
        bottom.setStyle(showValues=row == 2)
        if row == 2:
            plot.setLabel("bottom", "Before the newest sample", units="s")
        return plot

    def draw(self, series: RateSeries, span_seconds: float) -> None:
        """Show the last `span_seconds` of `series`."""
        shown = series.last(span_seconds)
        seconds, joined = step_seconds(shown)
        for curve, values in (
            (self._prefill_curve, shown.prefill_tokens_per_second),
            (self._decode_curve, shown.decode_tokens_per_second),
            (self._disk_curve, shown.bytes_per_second),
            (self._wait_curve, shown.disk_wait_share * 100),
        ):
            curve.setData(seconds, np.repeat(values, 2), connect=joined)
        for plot in (self._speed, self._disk, self._wait):
            plot.setXRange(-span_seconds, 0, padding=0)
        fastest = max(_top(shown.prefill_tokens_per_second), _top(shown.decode_tokens_per_second))
        self._speed.setYRange(0, fastest * 1.1 or 1, padding=0)
        self._disk.setYRange(0, _top(shown.bytes_per_second) * 1.1 or 1, padding=0)

    def apply_theme(self, colours: PlotColours) -> None:
        metrics = self.fontMetrics()
        for plot in (self._speed, self._disk, self._wait):
            apply_axes_theme(plot, self.palette(), self.font())
            # one width for all three, so that equal times stand above each other
            plot.getAxis("left").setWidth(metrics.horizontalAdvance("0,000") + int(1.5 * metrics.height()))
        # one pixel wide: without OpenGL a wider line takes five times as long to draw
        self._prefill_curve.setPen(pg.mkPen(colours.prefill))
        self._decode_curve.setPen(pg.mkPen(colours.decode))
        self._disk_curve.setPen(pg.mkPen(colours.disk))
        self._wait_curve.setPen(pg.mkPen(colours.wait))


def step_seconds(series: RateSeries) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Start and end of each interval in seconds before the newest sample, and which points to join.

    A rate holds over its whole interval, so it is a step, not a ramp; nothing is drawn where nothing was
    sampled (while a model loads).
    """
    edges_ns = np.column_stack((series.start_ns, series.t_ns)).ravel()
    joined = np.ones(len(edges_ns), np.int32)
    joined[1:-1:2] = edges_ns[1:-1:2] == edges_ns[2::2]
    newest_ns = edges_ns[-1] if len(edges_ns) else 0
    return (edges_ns - newest_ns) / 1e9, joined


def _top(values: NDArray[np.float64]) -> float:
    return float(values.max(initial=0.0))
