"""Three plots with one time axis: speed, disk rate, disk wait."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from app.inspector.curve_points import curve_points
from app.inspector.plot_frame import PlotFrame
from app.inspector.plot_theme import PlotColours, apply_axes_theme
from app.inspector.time_box import TimeBox
from app.inspector.time_range import TimeRange
from app.rate_series import RateSeries

_LEAST_GROUPS = 300  # before it is laid out, a plot says that it is a pixel wide


@dataclass(frozen=True, slots=True)
class TimePicture:
    """What to draw; `drive_bytes_per_second` is the drive's measured maximum, 0 if unknown."""

    series: RateSeries
    shown: TimeRange
    newest_ns: int
    selection: TimeRange | None
    drive_bytes_per_second: float


class TimePlots(PlotFrame):
    """The axis counts seconds before the newest counter sample; curves are kept and moved.

    Emits the wishes of wheel and mouse in those seconds, and keys as they come.
    """

    zoom_wanted = Signal(float, float)
    pan_wanted = Signal(float)
    select_wanted = Signal(float, float)
    clear_wanted = Signal()
    key_pressed = Signal(Qt.Key)
    resized = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        self._layout = pg.GraphicsLayoutWidget()
        super().__init__(self._layout, 22, parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Speed, disk rate and disk wait over time")
        self._layout.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._layout.ci.layout.setContentsMargins(0, 4, 0, 0)
        self._speed = self._add_plot(0, "Speed", "tok/s")
        self._disk = self._add_plot(1, "Read", "B/s")
        self._wait = self._add_plot(2, "Wait", "%")
        self._plots = (self._speed, self._disk, self._wait)
        self._regions = [self._add_region(plot) for plot in self._plots]
        self._prefill_curve = self._speed.plot(skipFiniteCheck=True)
        self._decode_curve = self._speed.plot(skipFiniteCheck=True)
        self._disk_curve = self._disk.plot(skipFiniteCheck=True)
        self._wait_curve = self._wait.plot(skipFiniteCheck=True)
        self._wait.setYRange(0, 100, padding=0.02)
        self._speed.getViewBox().sigResized.connect(self._view_resized)
        self.update_theme()

    def _view_resized(self, _view: pg.ViewBox) -> None:
        self.resized.emit()

    def _add_plot(self, row: int, title: str, units: str) -> pg.PlotItem:
        box = TimeBox()
        for mine, wish in (
            (box.zoom_wanted, self.zoom_wanted),
            (box.pan_wanted, self.pan_wanted),
            (box.select_wanted, self.select_wanted),
            (box.clear_wanted, self.clear_wanted),
        ):
            mine.connect(wish)
        plot = self._layout.addPlot(row=row, col=0, viewBox=box)
        plot.hideButtons()
        plot.setLabel("left", title, units=units)
        plot.getAxis("left").enableAutoSIPrefix(units == "B/s")
        plot.showAxis("right")
        plot.getAxis("right").setTicks([[]])
        bottom = plot.getAxis("bottom")
        bottom.enableAutoSIPrefix(False)
        bottom.setStyle(showValues=row == 2)
        if row == 2:
            plot.setLabel("bottom", "Before the newest sample", units="s")
        return plot

    def _add_region(self, plot: pg.PlotItem) -> pg.LinearRegionItem:
        region = pg.LinearRegionItem(movable=False)
        region.setVisible(False)
        plot.addItem(region, ignoreBounds=True)
        return region

    @property
    def load_marks(self) -> tuple[str, ...]:
        """Words at the right of the disk plot: share of the drive's measured maximum."""
        levels = self._disk.getAxis("right")._tickLevels
        return tuple(text for _, text in levels[0]) if levels else ()

    def draw(self, picture: TimePicture) -> None:
        """Show the part of the series that is on the screen."""
        shown = picture.series.between(picture.shown.start_ns, picture.shown.end_ns)
        most_groups = max(_LEAST_GROUPS, int(self._speed.getViewBox().width()))
        points = curve_points(shown, picture.newest_ns, most_groups)
        for curve, values in (
            (self._prefill_curve, shown.rate("prefill_tokens_per_second")),
            (self._decode_curve, shown.rate("decode_tokens_per_second")),
            (self._disk_curve, shown.rate("bytes_per_second")),
            (self._wait_curve, shown.rate("disk_wait_share") * 100),
        ):
            curve.setData(points.seconds, points.heights(values), connect=points.joined)
        start, end = self._in_seconds(picture.shown, picture.newest_ns)
        for plot in self._plots:
            plot.setXRange(start, end, padding=0)
        fastest = max(
            _top(shown.rate("prefill_tokens_per_second")), _top(shown.rate("decode_tokens_per_second"))
        )
        self._speed.setYRange(0, fastest * 1.1 or 1, padding=0)
        self._show_disk_scale(_top(shown.rate("bytes_per_second")), picture.drive_bytes_per_second)
        self._show_selection(picture)

    def _show_disk_scale(self, top: float, maximum: float) -> None:
        """Up to the drive's maximum, so that the height of the curve is its load."""
        self._disk.setYRange(0, max(top, maximum) * 1.05 or 1, padding=0)
        marks = [(maximum * share, f"{share:.0%}") for share in (0, 0.5, 1)] if maximum else []
        self._disk.getAxis("right").setTicks([marks])

    def _show_selection(self, picture: TimePicture) -> None:
        for region in self._regions:
            region.setVisible(picture.selection is not None)
            if picture.selection is not None:
                region.setRegion(self._in_seconds(picture.selection, picture.newest_ns))

    @staticmethod
    def _in_seconds(part: TimeRange, newest_ns: int) -> tuple[float, float]:
        return (part.start_ns - newest_ns) / 1e9, (part.end_ns - newest_ns) / 1e9

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier):
            event.accept()
            self.key_pressed.emit(Qt.Key(event.key()))
        else:
            super().keyPressEvent(event)

    def apply_theme(self, colours: PlotColours) -> None:
        metrics = self.fontMetrics()
        for plot in self._plots:
            apply_axes_theme(plot, self.palette(), self.font(), ("left", "bottom", "right"))
            # one width for all three, so that equal times stand above each other
            plot.getAxis("left").setWidth(metrics.horizontalAdvance("0,000") + int(1.5 * metrics.height()))
            plot.getAxis("right").setWidth(metrics.horizontalAdvance("100%  "))
        # one pixel wide: without OpenGL a wider line takes five times as long to draw
        self._prefill_curve.setPen(pg.mkPen(colours.prefill))
        self._decode_curve.setPen(pg.mkPen(colours.decode))
        self._disk_curve.setPen(pg.mkPen(colours.disk))
        self._wait_curve.setPen(pg.mkPen(colours.wait))
        highlight = self.palette().highlight().color()
        highlight.setAlpha(50)
        for region in self._regions:
            region.setBrush(highlight)


def _top(values: NDArray[np.float64]) -> float:
    return float(values.max(initial=0.0))
