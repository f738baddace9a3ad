"""How full the slots of each layer and tier are, and how often they help."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QLabel, QSizePolicy, QVBoxLayout, QWidget

from app.counter_rates import WindowTotals, hit_share
from app.inspector.expert_grid import label_step, tick_labels
from app.inspector.expert_words import missing_figures
from app.inspector.figure_table import FigureTable
from app.inspector.figures import UNKNOWN, count_text, percent_text, seconds_text
from app.inspector.notice_page import NoticePage
from app.inspector.plot_theme import TIER_WORDS, apply_axes_theme, base_colour, plot_colours, swatches_html
from app.inspector.slot_figures import LayerFigures, TierFigures, layer_figures, tier_figures
from app.inspector.verdict import WINDOW_SECONDS
from app.telemetry_store import TelemetryStore
from engine.config import format_size
from engine.events import Counters
from engine.placement.tier import Tier

_STACK = (Tier.VRAM, Tier.HOST_POOL, Tier.HOST_WINDOW)  # from the axis up


class SlotsView(NoticePage):
    """Stacked bars per layer, totals per tier, hit rate and evictions."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._layers: tuple[int, ...] = ()
        self._plot = pg.PlotWidget()
        self._plot.setAccessibleName("Slots in use per layer")
        self._bars = {tier: _empty_bars() for tier in _STACK}
        self._pool_line = pg.PlotCurveItem(x=[0, 1], y=[0], stepMode="center")
        self._legend = QLabel()
        self._legend.setWordWrap(True)
        self._table = FigureTable("Slots per tier", ("Where", "Experts", "Slots", "Bytes"))
        self._hits = QLabel()
        self._hits.setWordWrap(True)
        self._hits.setAccessibleName("Hit rate and evictions")
        self._build_plot()
        layout = QVBoxLayout(self.content)
        layout.addWidget(self._plot, 1)
        self._plot.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
        layout.addWidget(self._legend)
        layout.addWidget(self._table)
        layout.addWidget(self._hits)
        self._apply_theme()

    def _build_plot(self) -> None:
        item = self._plot.getPlotItem()
        item.setMenuEnabled(False)
        item.hideButtons()
        item.setMouseEnabled(x=False, y=False)
        item.setLabel("left", "Experts with a slot")
        item.setLabel("bottom", "Layer")
        for bars in (*self._bars.values(), self._pool_line):
            item.addItem(bars)
        item.getViewBox().sigResized.connect(self._place_ticks)

    @property
    def table_texts(self) -> tuple[tuple[str, ...], ...]:
        return self._table.texts

    @property
    def hits_text(self) -> str:
        return self._hits.text()

    def draw(self, store: TelemetryStore) -> None:
        """Show the newest sample of tiers and counters."""
        self.show_notice(missing_figures(store))
        if self.notice or store.model is None or store.experts is None:
            return
        sample = store.experts.sample
        self._draw_bars(layer_figures(store.model, sample))
        self._table.show_rows([_tier_texts(row) for row in tier_figures(store.model, sample)])
        self._hits.setText(hits_words(store.counters, store.rates.window(WINDOW_SECONDS)))

    def _draw_bars(self, figures: LayerFigures) -> None:
        places = np.arange(len(figures.layers)) + 0.5
        floor = np.zeros(len(places))
        for tier, heights in zip(_STACK, (figures.vram, figures.pool, figures.window), strict=True):
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

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self._apply_theme()

    def _apply_theme(self) -> None:
        palette = self.palette()
        self._plot.setBackground(base_colour(palette))
        apply_axes_theme(self._plot.getPlotItem(), palette, self.font())
        colours = plot_colours(palette).tiers
        for tier, bars in self._bars.items():
            bars.setOpts(brush=QColor(colours[tier]), pen=None)
        text = palette.text().color()
        self._pool_line.setPen(pg.mkPen(text, width=2))
        entries = [(colours[tier], TIER_WORDS[tier]) for tier in _STACK]
        line = swatches_html([(text.name(), "slots of the layer’s pool")], sign="━")
        self._legend.setText(f"{swatches_html(entries)}&nbsp;&nbsp; {line}")
        self._plot.setMinimumHeight(self.fontMetrics().height() * 12)


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
    size = f"{format_size(row.used_bytes)} of {format_size(row.slots_bytes)}"
    return TIER_WORDS[row.tier], count_text(row.experts), count_text(row.slots), size


def _empty_bars() -> pg.BarGraphItem:
    return pg.BarGraphItem(x=[], y0=[], height=[], width=0.8)
