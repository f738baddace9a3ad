"""How full the slots of each layer and tier are, what moves between them, and how often they help."""

from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.inspector.display_words import TIER_WORDS
from app.inspector.evidence import WINDOW_SECONDS
from app.inspector.expert_words import missing_figures
from app.inspector.figure_table import FigureTable
from app.inspector.layer_bars import LayerBars
from app.inspector.memory_figures import memory_lines
from app.inspector.move_bars import MoveBars
from app.inspector.move_legend import move_entries
from app.inspector.notice_page import NoticePage
from app.inspector.plot_theme import plot_colours, swatches_html
from app.inspector.slot_figures import layer_figures, tier_figures, tiers_of
from app.inspector.slot_words import hits_words, lent_words, moves_words, tier_texts
from app.inspector.warm_up_panel import WarmUpPanel
from app.inspector.wrapped_label import FigureLabel, wrapped_label
from app.telemetry_store import TelemetryStore
from engine.model_facts import ModelInfo
from engine.placement.tier import Tier

_PLACES = ("Where", "Experts", "Slots", "Bytes", "Asked for")


class SlotsView(NoticePage):
    """Stacked bars and moves per layer, totals per tier, hit rate and evictions, the budget, the warm-up."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model: ModelInfo | None = None
        self._bars, self._move_bars = LayerBars(), MoveBars()
        self._legend = wrapped_label("Legend of the slots")
        self._moves_legend = wrapped_label("Legend of the moves")
        self._moves = FigureLabel("Moves of experts")
        self._table = FigureTable("Slots per tier", _PLACES)
        self._hits = FigureLabel("Hit rate and evictions")
        self._memory = FigureTable("Memory budget", ("Memory", "Planned", "In use"))
        self.warm_up, self.is_live = WarmUpPanel(), True
        layout = QVBoxLayout(self.content)
        layout.addWidget(self._bars, 2)
        layout.addWidget(self._legend)
        layout.addWidget(self._table)
        layout.addWidget(self._hits)
        layout.addWidget(self._move_bars, 1)
        layout.addWidget(self._moves_legend)
        layout.addWidget(self._moves)
        layout.addWidget(self._memory)
        layout.addWidget(self.warm_up)
        self._apply_theme()

    @property
    def table_rows(self) -> tuple[tuple[str, ...], ...]:
        return self._table.rows

    @property
    def memory_rows(self) -> tuple[tuple[str, ...], ...]:
        return self._memory.rows

    @property
    def hits_text(self) -> str:
        return self._hits.words

    @property
    def moves_text(self) -> str:
        return self._moves.words

    @property
    def legend_text(self) -> str:
        return self._legend.text()

    def draw(self, store: TelemetryStore) -> None:
        """Show the newest sample of tiers and counters."""
        self.show_notice(missing_figures(store))
        if self.notice or store.model is None or store.experts is None:
            return
        if store.model is not self._model:
            self._model = store.model
            self._apply_theme()
        sample, window = store.experts.sample, store.rates.window(WINDOW_SECONDS)
        self._bars.draw(layer_figures(store.model, sample))
        tiers = tier_figures(store.model, sample)
        self._table.show_rows([tier_texts(row, window) for row in tiers])
        self._hits.say(hits_words(store.counters, window) + lent_words(tiers))
        moved = store.experts.moves.counts()
        self._move_bars.draw(moved, sample.moe_layers)
        self._moves.say(moves_words(moved, store.counters))
        self._memory.show_rows(memory_lines(store.model, sample, store.context_used_tokens))
        self.warm_up.draw(store, self.is_live)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._apply_theme()

    def _apply_theme(self) -> None:
        colours, text = plot_colours(self.palette()), self.palette().text().color().name()
        tiers = tiers_of(self._model) if self._model else ()
        entries = [(colours.tiers[tier], TIER_WORDS[tier]) for tier in tiers if tier is not Tier.DISK]
        lines = swatches_html([(text, "slots of the layer’s pool")], sign="━")
        if self._model and any(each.hot_per_layer for each in self._model.slot_classes):
            lines += "&nbsp;&nbsp; " + swatches_html([(text, "of them the hot zone")], sign="┅")
        self._legend.setText(f"{swatches_html(entries)}&nbsp;&nbsp; {lines}")
        self._moves_legend.setText(swatches_html(move_entries(colours, self._model)))
