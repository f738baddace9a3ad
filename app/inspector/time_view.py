"""Speed, rates, waits and bytes per token over time, and the same as figures."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.ceiling import NOT_MEASURED, Ceiling
from app.inspector.evidence import WINDOW_SECONDS
from app.inspector.plot_theme import plot_colours, swatches_html
from app.inspector.time_axis import TimeAxis
from app.inspector.time_plots import TimePicture, TimePlots, rate_colours
from app.inspector.time_range import range_between
from app.inspector.time_words import figures_words, selection_words
from app.inspector.wrapped_label import FigureLabel
from app.rate_series import RateSeries
from app.telemetry_store import TelemetryStore
from app.window_totals import WindowTotals

SPAN_CHOICES = {"Last 60 s": 60, "Last 5 min": 300, "Last 30 min": 1800}
_PAN_SHARE = 0.2
_ZOOM_STEP = 1.25
_LEGEND = {
    "Speed": {"prefill_tokens_per_second": "prefill", "decode_tokens_per_second": "decode"},
    "Disk": {"bytes_per_second": "read"},
    "Link": {"link_bytes_per_second": "copied"},
    "Time": {
        "compute_share": "computing",
        "disk_wait_share": "waiting for disk",
        "transfer_wait_share": "waiting for the link",
    },
    "Token": {"bytes_per_token": "read per token"},
}
_LINK_RATES = ("link_bytes_per_second", "transfer_wait_share")
_KEYS = (
    "Wheel or W, S: zoom. Shift with drag or wheel, or A, D: move. Drag: select and sum; R selects all "
    "that is shown. F: zoom to the selection. Delete: select nothing. Space: follow."
)


class TimeView(QWidget):
    """Keeps a snapshot of what it drew, so that zoom, pan and selection also work while paused."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._series: RateSeries | None = None
        self._window: WindowTotals | None = None
        self._drive: Ceiling = NOT_MEASURED
        self._link: Ceiling | None = None
        self._axis = TimeAxis(SPAN_CHOICES["Last 60 s"])
        self._span = QComboBox()
        self._follow = QPushButton("Following")
        self._plots = TimePlots()
        self._figures = FigureLabel("Figures of the last seconds, or of the selection")
        self._legend, self._keys = QLabel(), QLabel(_KEYS)
        self._build_controls()
        self._build_layout()
        self._connect()
        self._show_legend()

    def _build_controls(self) -> None:
        self._span.setAccessibleName("Time shown")
        self._span.setPlaceholderText("Zoomed")
        for words, seconds in SPAN_CHOICES.items():
            self._span.addItem(words, seconds)
        self._follow.setCheckable(True)
        self._follow.setChecked(True)
        self._follow.setToolTip("Keep the newest sample in sight.")
        for label in (self._legend, self._keys):
            label.setWordWrap(True)

    def _build_layout(self) -> None:
        layout = QVBoxLayout(self)
        top = QHBoxLayout()
        top.addWidget(self._span)
        top.addWidget(self._follow)
        top.addStretch(1)
        layout.addLayout(top)
        layout.addWidget(self._legend)
        layout.addWidget(self._plots, 1)
        layout.addWidget(self._figures)
        layout.addWidget(self._keys)

    def _connect(self) -> None:
        self._span.activated.connect(self._span_chosen)
        self._follow.clicked.connect(self._set_following)
        self._plots.zoom_wanted.connect(lambda steps, x: self._zoom(_ZOOM_STEP**steps, self._time_ns(x)))
        self._plots.pan_wanted.connect(lambda seconds: self._pan(seconds * 1e9 / self._axis.shown.span_ns))
        self._plots.select_wanted.connect(self._select)
        self._plots.clear_wanted.connect(self._clear)
        self._plots.key_pressed.connect(self._key_pressed)
        self._plots.resized.connect(self._paint_plots)

    @property
    def axis(self) -> TimeAxis:
        """What is shown and selected."""
        return self._axis

    @property
    def figures_text(self) -> str:
        """The words below the plots."""
        return self._figures.words

    def draw(self, store: TelemetryStore) -> None:
        """Take the newest samples; the picture moves only while it follows."""
        self._series = store.rates.series(max(SPAN_CHOICES.values()))
        self._window = store.rates.window(WINDOW_SECONDS)
        self._drive, self._link = store.drive_ceiling, store.link_ceiling
        if len(self._series.t_ns):
            self._axis.take(int(self._series.start_ns[0]), int(self._series.t_ns[-1]))
        self._paint_plots()

    def _paint_plots(self) -> None:
        if self._series is None:
            return
        axis, ceilings = self._axis, (self._drive, self._link)
        if axis.selection is None:
            words = figures_words(self._window, *ceilings)
        else:
            chosen = self._series.mostly_between(axis.selection.start_ns, axis.selection.end_ns)
            words = selection_words(chosen.totals(), *ceilings)
        self._figures.say(words)
        self._plots.draw(TimePicture(self._series, axis.shown, axis.newest_ns, axis.selection, *ceilings))
        self._show_legend()
        self._follow.setChecked(axis.is_following)
        # a pressed button hardly differs in the dark
        self._follow.setText("Following" if axis.is_following else "Follow")
        self._span.setCurrentIndex(self._span.findData(axis.shown.span_ns / 1e9))

    # --- zoom, pan, select --------------------------------------------------------------------

    def _key_pressed(self, key: Qt.Key) -> None:
        calls: dict[Qt.Key, Callable[[], None]] = {
            Qt.Key.Key_W: lambda: self._zoom(1 / _ZOOM_STEP, self._axis.middle_ns),
            Qt.Key.Key_S: lambda: self._zoom(_ZOOM_STEP, self._axis.middle_ns),
            Qt.Key.Key_A: lambda: self._pan(-_PAN_SHARE),
            Qt.Key.Key_D: lambda: self._pan(_PAN_SHARE),
            Qt.Key.Key_R: self._select_shown,
            Qt.Key.Key_F: self._fit,
            Qt.Key.Key_Delete: self._clear,
            Qt.Key.Key_Backspace: self._clear,
            Qt.Key.Key_Space: lambda: self._set_following(not self._axis.is_following),
        }
        calls |= {Qt.Key.Key_Left: calls[Qt.Key.Key_A], Qt.Key.Key_Right: calls[Qt.Key.Key_D]}
        if key in calls:
            calls[key]()

    def _zoom(self, factor: float, anchor_ns: int) -> None:
        self._axis.zoom(factor, anchor_ns)
        self._paint_plots()

    def _pan(self, share: float) -> None:
        self._axis.pan(share)
        self._paint_plots()

    def _select(self, first: float, second: float) -> None:
        self._axis.selection = range_between(self._time_ns(first), self._time_ns(second))
        self._paint_plots()

    def _select_shown(self) -> None:
        self._axis.selection = self._axis.shown
        self._paint_plots()

    def _clear(self) -> None:
        self._axis.selection = None
        self._paint_plots()

    def _fit(self) -> None:
        self._axis.fit_selection()
        self._paint_plots()

    def _set_following(self, is_following: bool) -> None:
        self._axis.follow(is_following)
        self._paint_plots()

    def _span_chosen(self) -> None:
        self._axis.show_last(self._span.currentData())
        self._paint_plots()

    def _time_ns(self, seconds: float) -> int:
        return self._axis.newest_ns + round(seconds * 1e9)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._show_legend()

    def _scale_words(self, lane: str) -> str:
        """What stands at the right of a lane."""
        ceiling = {"Disk": self._drive, "Link": self._link}.get(lane)
        if ceiling is None or not ceiling.bytes_per_second:
            return ""
        words = "load" if ceiling.is_measured else "the most seen so far"
        return f" (right: {words})".replace(" ", "&nbsp;")

    def _show_legend(self) -> None:
        """Only of what there is to see; written anew only when that changes, or the colours."""
        colours = rate_colours(plot_colours(self.palette()))
        lanes = []
        for lane, entries in _LEGEND.items():
            names = [name for name in entries if self._plots.has_link or name not in _LINK_RATES]
            if names:
                swatches = swatches_html([(colours[name], entries[name]) for name in names])
                lanes.append(f"{lane}:&nbsp;{swatches}{self._scale_words(lane)}")
        words = "&nbsp;&nbsp; ".join(lanes)
        if words != self._legend.text():
            self._legend.setText(words)
