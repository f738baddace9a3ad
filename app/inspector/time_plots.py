"""Plots with one time axis: speed, disk and link rates, where the time went, bytes per token."""

from __future__ import annotations

from dataclasses import dataclass

import pyqtgraph as pg
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from app.ceiling import Ceiling
from app.inspector.curve_points import curve_points
from app.inspector.plot_frame import PlotFrame
from app.inspector.plot_theme import PlotColours, apply_axes_theme
from app.inspector.time_lane import TimeLane
from app.inspector.time_range import TimeRange
from app.rate_series import RateSeries

_LEAST_GROUPS = 300  # before it is laid out, a plot says that it is a pixel wide
_LANES = (
    ("Speed", "tok/s", ("prefill_tokens_per_second", "decode_tokens_per_second")),
    ("Disk", "B/s", ("bytes_per_second",)),
    ("Link", "B/s", ("link_bytes_per_second",)),
    ("Time", "%", ("compute_share", "disk_wait_share", "transfer_wait_share")),
    ("Token", "B", ("bytes_per_token",)),
)
_SPEED, _DISK, _LINK, _TIME, _TOKEN = range(len(_LANES))


@dataclass(frozen=True, slots=True)
class TimePicture:
    """What to draw; `link` is None without devices."""

    series: RateSeries
    shown: TimeRange
    newest_ns: int
    selection: TimeRange | None
    drive: Ceiling
    link: Ceiling | None


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
        super().__init__(self._layout, 27, parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Speed, disk and link rates, waits and bytes per token over time")
        self._layout.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._layout.ci.layout.setContentsMargins(0, 4, 0, 0)
        self.lanes = [TimeLane(self._layout, row, *lane) for row, lane in enumerate(_LANES)]
        for lane in self.lanes:
            self._pass_on(lane)
        self._has_link = True
        self._show_link(False)
        self.lanes[_TOKEN].show_axis(is_last=True)
        self.lanes[_SPEED].box.sigResized.connect(self._view_resized)
        self.update_theme()

    def _pass_on(self, lane: TimeLane) -> None:
        lane.box.zoom_wanted.connect(self.zoom_wanted)
        lane.box.pan_wanted.connect(self.pan_wanted)
        lane.box.select_wanted.connect(self.select_wanted)
        lane.box.clear_wanted.connect(self.clear_wanted)

    def _view_resized(self, _view: pg.ViewBox) -> None:
        self.resized.emit()

    def _show_link(self, is_shown: bool) -> None:
        """Its lane takes room only where there is a device."""
        if is_shown == self._has_link:
            return
        self._has_link, plot = is_shown, self.lanes[_LINK].plot
        self.lanes[_TIME].curves["transfer_wait_share"].setVisible(is_shown)
        if is_shown:
            self._layout.addItem(plot, row=_LINK, col=0)
        else:
            self._layout.removeItem(plot)

    @property
    def load_marks(self) -> tuple[str, ...]:
        """Words at the right of the disk plot: share of the drive's measured maximum."""
        return self.lanes[_DISK].marks

    @property
    def has_link(self) -> bool:
        """Whether copies to devices have a lane."""
        return self._has_link

    def draw(self, picture: TimePicture) -> None:
        """Show the part of the series that is on the screen."""
        self._show_link(picture.link is not None)
        shown = picture.series.between(picture.shown.start_ns, picture.shown.end_ns)
        most_groups = max(_LEAST_GROUPS, int(self.lanes[_SPEED].box.width()))
        points = curve_points(shown, picture.newest_ns, most_groups)
        start, end = _in_seconds(picture.shown, picture.newest_ns)
        chosen = _in_seconds(picture.selection, picture.newest_ns) if picture.selection else None
        ceilings = {_DISK: picture.drive, _LINK: picture.link}
        for place, lane in enumerate(self.lanes):
            if place == _LINK and picture.link is None:
                continue
            lane.draw(shown, points, ceilings.get(place))
            lane.plot.setXRange(start, end, padding=0)
            lane.show_region(chosen)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier):
            event.accept()
            self.key_pressed.emit(Qt.Key(event.key()))
        else:
            super().keyPressEvent(event)

    def apply_theme(self, colours: PlotColours) -> None:
        metrics, highlight = self.fontMetrics(), self.palette().highlight().color()
        highlight.setAlpha(50)
        for lane in self.lanes:
            apply_axes_theme(lane.plot, self.palette(), self.font(), ("left", "bottom", "right"))
            # one width for all, so that equal times stand above each other
            width = metrics.horizontalAdvance("0,000") + int(1.5 * metrics.height())
            lane.plot.getAxis("left").setWidth(width)
            lane.plot.getAxis("right").setWidth(metrics.horizontalAdvance("100%  "))
            lane.colour(rate_colours(colours), highlight)


def rate_colours(colours: PlotColours) -> dict[str, str]:
    """Colour per rate; the legend uses the same."""
    return {
        "prefill_tokens_per_second": colours.prefill,
        "decode_tokens_per_second": colours.decode,
        "bytes_per_second": colours.disk,
        "link_bytes_per_second": colours.link,
        "compute_share": colours.compute,
        "disk_wait_share": colours.wait,
        "transfer_wait_share": colours.link,
        "bytes_per_token": colours.disk,
    }


def _in_seconds(part: TimeRange, newest_ns: int) -> tuple[float, float]:
    return (part.start_ns - newest_ns) / 1e9, (part.end_ns - newest_ns) / 1e9
