"""How full the slots of each layer and tier are, and how often they help."""

from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from app.counter_rates import WindowTotals, hit_share
from app.inspector.display_words import TIER_WORDS
from app.inspector.expert_words import missing_figures
from app.inspector.figure_table import FigureTable
from app.inspector.figures import UNKNOWN, count_text, part_text, percent_text, seconds_text
from app.inspector.layer_bars import STACK, LayerBars
from app.inspector.notice_page import NoticePage
from app.inspector.plot_theme import plot_colours, swatches_html
from app.inspector.slot_figures import TierFigures, layer_figures, tier_figures
from app.inspector.verdict import WINDOW_SECONDS
from app.inspector.warm_up_panel import WarmUpPanel
from app.telemetry_store import TelemetryStore
from engine.config import format_size
from engine.events import Counters


class SlotsView(NoticePage):
    """Stacked bars per layer, totals per tier, hit rate and evictions."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bars = LayerBars()
        self._legend = QLabel()
        self._legend.setWordWrap(True)
        self._table = FigureTable("Slots per tier", ("Where", "Experts", "Slots", "Bytes"))
        self._hits = QLabel()
        self._hits.setWordWrap(True)
        self._hits.setAccessibleName("Hit rate and evictions")
        self.warm_up, self.is_live = WarmUpPanel(), True
        layout = QVBoxLayout(self.content)
        layout.addWidget(self._bars, 1)
        layout.addWidget(self._legend)
        layout.addWidget(self._table)
        layout.addWidget(self._hits)
        layout.addWidget(self.warm_up)
        self._apply_theme()

    @property
    def table_rows(self) -> tuple[tuple[str, ...], ...]:
        return self._table.rows

    @property
    def hits_text(self) -> str:
        return self._hits.text()

    def draw(self, store: TelemetryStore) -> None:
        """Show the newest sample of tiers and counters."""
        self.show_notice(missing_figures(store))
        if self.notice or store.model is None or store.experts is None:
            return
        sample = store.experts.sample
        self._bars.draw(layer_figures(store.model, sample))
        self._table.show_rows([_tier_texts(row) for row in tier_figures(store.model, sample)])
        self.warm_up.draw(store, self.is_live)
        self._hits.setText(hits_words(store.counters, store.rates.window(WINDOW_SECONDS)))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._apply_theme()

    def _apply_theme(self) -> None:
        palette = self.palette()
        colours = plot_colours(palette).tiers
        entries = [(colours[tier], TIER_WORDS[tier]) for tier in STACK]
        line = swatches_html([(palette.text().color().name(), "slots of the layer’s pool")], sign="━")
        self._legend.setText(f"{swatches_html(entries)}&nbsp;&nbsp; {line}")


def hits_words(counters: Counters | None, window: WindowTotals | None) -> str:
    """Hit rate and evictions, lately and since the load."""
    total = hit_share(counters.expert_requests, counters.expert_misses) if counters else None
    if window is None:
        return f"Hit rate since the load: {percent_text(total)}. Lately: {UNKNOWN}."
    lately = f"last {seconds_text(window.span_ns)}"
    return (
        f"Hit rate: {percent_text(window.hit_share)} in the {lately}, {percent_text(total)} since the load. "
        f"Evictions: {window.evictions_per_second:,.1f}/s in the {lately}, "
        f"{count_text(counters.evictions if counters else None)} since the load."
    )


def _tier_texts(row: TierFigures) -> tuple[str, str, str, str]:
    if row.slots is None or row.slots_bytes is None:
        return TIER_WORDS[row.tier], count_text(row.experts), "", format_size(row.used_bytes)
    size = part_text(row.used_bytes, row.slots_bytes)
    return TIER_WORDS[row.tier], count_text(row.experts), count_text(row.slots), size
