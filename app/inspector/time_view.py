"""Speed, disk rate and disk wait over time, and the same as figures."""

from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.counter_rates import RateSeries, WindowTotals
from app.inspector.figures import UNKNOWN, percent_text, rate_text, seconds_text, speed_text
from app.inspector.plot_theme import plot_colours, swatches_html
from app.inspector.time_plots import TimePlots
from app.inspector.verdict import WINDOW_SECONDS
from app.telemetry_store import TelemetryStore

SPAN_CHOICES = {"Last 60 s": 60, "Last 5 min": 300}


class TimeView(QWidget):
    """Keeps a snapshot of what it drew, so that the choice of span also works while paused."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._series: RateSeries | None = None
        self._span = QComboBox()
        self._span.setAccessibleName("Time shown")
        for words, seconds in SPAN_CHOICES.items():
            self._span.addItem(words, seconds)
        self._span.currentIndexChanged.connect(self._paint_plots)
        self._plots = TimePlots()
        self._legend = QLabel()
        self._legend.setWordWrap(True)
        self._figures = QLabel()
        self._figures.setWordWrap(True)
        self._figures.setAccessibleName("Figures of the last seconds")
        self._build_layout()
        self._show_legend()

    def _build_layout(self) -> None:
        layout = QVBoxLayout(self)
        top = QHBoxLayout()
        top.addWidget(self._span)
        top.addStretch(1)
        layout.addLayout(top)
        layout.addWidget(self._legend)
        layout.addWidget(self._plots, 1)
        layout.addWidget(self._figures)

    @property
    def figures_text(self) -> str:
        """The words below the plots."""
        return self._figures.text()

    def draw(self, store: TelemetryStore) -> None:
        """Move the curves to the newest sample."""
        self._series = store.rates.series(max(SPAN_CHOICES.values()))
        self._figures.setText(
            figures_words(store.rates.window(WINDOW_SECONDS), store.rates.peak_bytes_per_second)
        )
        self._paint_plots()

    def _paint_plots(self) -> None:
        if self._series is not None:
            self._plots.draw(self._series, self._span.currentData())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._show_legend()

    def _show_legend(self) -> None:
        colours = plot_colours(self.palette())
        entries = [
            (colours.prefill, "prefill"),
            (colours.decode, "decode"),
            (colours.disk, "read from disk"),
            (colours.wait, "time stood still for the disk"),
        ]
        self._legend.setText(swatches_html(entries))


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
