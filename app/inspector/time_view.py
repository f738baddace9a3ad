"""Speed, disk rate and disk wait on one time axis."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from app.counter_rates import RateSeries, WindowTotals
from app.inspector.figures import UNKNOWN, percent_text, rate_text, seconds_text, speed_text
from app.inspector.plot_theme import apply_axes_theme, base_colour, plot_colours, swatches_html
from app.inspector.verdict import WINDOW_SECONDS
from app.telemetry_store import TelemetryStore

SPAN_CHOICES = {"Last 60 s": 60, "Last 5 min": 300}


class TimeView(QWidget):
    """Three plots with a common time axis that ends at the newest counter sample."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._series: RateSeries | None = None
        self._span = QComboBox()
        self._span.setAccessibleName("Time shown")
        for words, seconds in SPAN_CHOICES.items():
            self._span.addItem(words, seconds)
        self._span.currentIndexChanged.connect(self._paint_curves)
        self._plots = pg.GraphicsLayoutWidget()
        self._plots.setAccessibleName("Speed, disk rate and disk wait over time")
        self._speed = self._add_plot(0, "Speed", "tok/s")
        self._disk = self._add_plot(1, "Disk read", "B/s")
        self._wait = self._add_plot(2, "Disk wait", "%")
        self._prefill_curve = self._speed.plot(skipFiniteCheck=True)
        self._decode_curve = self._speed.plot(skipFiniteCheck=True)
        self._disk_curve = self._disk.plot(skipFiniteCheck=True)
        self._wait_curve = self._wait.plot(skipFiniteCheck=True)
        self._legend = QLabel()
        self._legend.setWordWrap(True)
        self._figures = QLabel()
        self._figures.setWordWrap(True)
        self._figures.setAccessibleName("Figures of the last seconds")
        self._build_layout()
        self._apply_theme()

    def _add_plot(self, row: int, title: str, units: str) -> pg.PlotItem:
        plot = self._plots.addPlot(row=row, col=0)
        plot.setMenuEnabled(False)
        plot.hideButtons()
        plot.setMouseEnabled(x=False, y=False)
        plot.showGrid(x=True, y=True, alpha=0.2)
        plot.setLabel("left", title, units=units)
        plot.getAxis("left").enableAutoSIPrefix(units == "B/s")
        bottom = plot.getAxis("bottom")
        bottom.enableAutoSIPrefix(False)
        bottom.setStyle(showValues=row == 2)
        if row == 2:
            plot.setLabel("bottom", "Before the newest sample", units="s")
            plot.setYRange(0, 100, padding=0.02)
        return plot

    def _build_layout(self) -> None:
        layout = QVBoxLayout(self)
        top = QHBoxLayout()
        top.addWidget(self._span)
        top.addStretch(1)
        layout.addLayout(top)
        layout.addWidget(self._legend)
        layout.addWidget(self._plots, 1)
        self._plots.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
        layout.addWidget(self._figures)

    @property
    def figures_text(self) -> str:
        return self._figures.text()

    @property
    def _all_plots(self) -> tuple[pg.PlotItem, ...]:
        return self._speed, self._disk, self._wait

    def draw(self, store: TelemetryStore) -> None:
        """Move the curves to the newest sample."""
        self._series = store.rates.series(max(SPAN_CHOICES.values()))
        self._figures.setText(
            figures_words(store.rates.window(WINDOW_SECONDS), store.rates.peak_bytes_per_second)
        )
        self._paint_curves()

    def _paint_curves(self) -> None:
        if self._series is None:
            return
        span_seconds = self._span.currentData()
        series = self._series.last(span_seconds)
        seconds = (series.t_ns - series.t_ns[-1]) / 1e9 if len(series.t_ns) else np.zeros(0)
        self._prefill_curve.setData(seconds, series.prefill_tokens_per_second)
        self._decode_curve.setData(seconds, series.decode_tokens_per_second)
        self._disk_curve.setData(seconds, series.bytes_per_second)
        self._wait_curve.setData(seconds, series.disk_wait_share * 100)
        for plot in self._all_plots:
            plot.setXRange(-span_seconds, 0, padding=0)
        fastest = max(_top(series.prefill_tokens_per_second), _top(series.decode_tokens_per_second))
        self._speed.setYRange(0, fastest * 1.1 or 1, padding=0)
        self._disk.setYRange(0, _top(series.bytes_per_second) * 1.1 or 1, padding=0)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self._apply_theme()

    def _apply_theme(self) -> None:
        palette, metrics = self.palette(), self.fontMetrics()
        self._plots.setBackground(base_colour(palette))
        for plot in self._all_plots:
            apply_axes_theme(plot, palette, self.font())
            # one width for all three, so that equal times stand above each other
            plot.getAxis("left").setWidth(metrics.horizontalAdvance("0,000") + 2 * metrics.height())
        colours = plot_colours(palette)
        self._prefill_curve.setPen(pg.mkPen(colours.prefill, width=2))
        self._decode_curve.setPen(pg.mkPen(colours.decode, width=2))
        self._disk_curve.setPen(pg.mkPen(colours.disk, width=2))
        self._wait_curve.setPen(pg.mkPen(colours.wait, width=2))
        entries = [
            (colours.prefill, "prefill"),
            (colours.decode, "decode"),
            (colours.disk, "disk read"),
            (colours.wait, "disk wait"),
        ]
        self._legend.setText(swatches_html(entries))
        self._plots.setMinimumHeight(metrics.height() * 22)


def figures_words(window: WindowTotals | None, peak_bytes_per_second: float) -> str:
    """The same figures as numbers, over the last seconds."""
    if window is None:
        return f"Figures: {UNKNOWN} until two samples of the counters are there."
    rate = window.bytes_per_second
    share = percent_text(rate / peak_bytes_per_second if peak_bytes_per_second else None)
    return (
        f"Last {seconds_text(window.span_ns)}: prefill {speed_text(window.prefill_tokens_per_second)}, "
        f"decode {speed_text(window.decode_tokens_per_second)}; disk read {rate_text(rate)}, "
        f"{share} of the fastest seen ({rate_text(peak_bytes_per_second or None)}); "
        f"stood still for the disk {percent_text(window.disk_wait_share)} of the time."
    )


def _top(values: NDArray[np.float64]) -> float:
    return float(values.max(initial=0.0))
