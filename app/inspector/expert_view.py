"""Heat and place of every expert: two maps, one above the other, with one order of columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QComboBox, QFormLayout, QPushButton, QVBoxLayout, QWidget

from app.expert_history import ExpertHistory, HeatWindow, Phase
from app.inspector.colour_bar import ColourBar
from app.inspector.display_words import TIER_WORDS
from app.inspector.expert_grid import (
    COLOUR_STEPS,
    arranged,
    colour_indices,
    half_counts,
    half_counts_of_sorted,
    heat_order,
    id_order,
)
from app.inspector.expert_map import ExpertMap
from app.inspector.expert_words import (
    ORDER_CHOICES,
    PHASE_CHOICES,
    WINDOW_CHOICES,
    cell_words,
    layer_skew_words,
    missing_figures,
    skew_words,
    window_words,
)
from app.inspector.map_marks import HALF_COLOUR, HOT_COLOUR, POOL_COLOUR
from app.inspector.move_legend import move_entries
from app.inspector.notice_page import NoticePage
from app.inspector.place_colours import place_indices, place_table
from app.inspector.plot_theme import plot_colours, swatches_html
from app.inspector.slot_figures import tiers_of
from app.inspector.wrapped_label import wrapped_label
from app.telemetry_store import TelemetryStore
from engine.model_facts import ModelInfo
from engine.placement.tier import Tier

_HINT = "Point at a place, or focus a map and use the arrow keys, to read its figures."


class ExpertView(NoticePage):
    """Keeps a snapshot of what it drew, so that choices and readings also work while paused."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model: ModelInfo | None = None
        self._history: ExpertHistory | None = None
        self._order: NDArray[np.int64] | None = None
        self._half_counts = np.zeros(0, np.int64)
        self._cell: tuple[int, int] | None = None
        self._phase = self._choice("Phase counted", PHASE_CHOICES)
        self._window = self._choice("Time counted", WINDOW_CHOICES)
        self._order_choice = self._choice("Order of experts", ORDER_CHOICES)
        self._heat = ExpertMap("Heat map: uses per layer and expert")
        self._place = ExpertMap("Residency map: where each expert is, per layer")
        heat_colours = pg.colormap.get("viridis").getLookupTable(nPts=COLOUR_STEPS)
        self._heat.set_colours(heat_colours)
        self._scale = ColourBar(heat_colours)
        self._tier_legend = wrapped_label("Legend of the residency map")
        self._marks_legend = wrapped_label("Legend of the marks on the heat map")
        self._skew = wrapped_label("How evenly picks are spread over experts")
        self._reading = wrapped_label("Figures of the chosen expert")
        self._build_layout()
        for one, other in ((self._heat, self._place), (self._place, self._heat)):
            one.cell_pointed.connect(self._read_cell)
            one.cell_pointed.connect(other.mark_cell)
            one.zoomed.connect(other.show_part)
        self._apply_theme()

    def _choice(self, name: str, choices: Mapping[str, Any]) -> QComboBox:
        box = QComboBox()
        box.setAccessibleName(name)
        # long words must not force the dock wider; the list itself shows them in full
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        for words, value in choices.items():
            box.addItem(words, value)
        box.currentIndexChanged.connect(self._paint_maps)
        return box

    def _build_layout(self) -> None:
        choices = QFormLayout()
        choices.addRow("Count", self._phase)
        choices.addRow("Over", self._window)
        choices.addRow("Order", self._order_choice)
        whole = QPushButton("Show whole map")
        whole.clicked.connect(self._heat.show_all)
        whole.clicked.connect(self._place.show_all)
        layout = QVBoxLayout(self.content)
        layout.addLayout(choices)
        layout.addWidget(self._scale)
        layout.addWidget(self._heat, 1)
        layout.addWidget(self._marks_legend)
        layout.addWidget(self._skew)
        layout.addWidget(self._tier_legend)
        layout.addWidget(self._place, 1)
        layout.addWidget(self._reading)
        layout.addWidget(whole)
        self._window.setCurrentIndex(list(WINDOW_CHOICES).index("Recent, fading"))

    def draw(self, store: TelemetryStore) -> None:
        """Show the store's newest sample, or a sentence why there is none."""
        self.show_notice(missing_figures(store))
        if store.model is not self._model:
            self._cell, self._model = None, store.model
            self._apply_theme()
        self._history = store.experts.snapshot() if store.experts else None
        self._paint_maps()

    def _paint_maps(self) -> None:
        history = self._history
        if self.notice or history is None:
            return
        window = HeatWindow(self._window.currentData())  # Qt hands back plain strings
        uses = history.uses(Phase(self._phase.currentData()), window)
        is_by_heat = self._order_choice.currentData()
        self._order = heat_order(uses) if is_by_heat else id_order(uses.shape)
        hottest = float(uses.max(initial=0))
        colours, tiers = colour_indices(uses, hottest), history.sample.tiers
        places = place_indices(tiers, history.moves)
        if is_by_heat:
            self._half_counts = half_counts_of_sorted(np.take_along_axis(uses, self._order, axis=1))
            colours, tiers, places = arranged(self._order, colours, tiers, places)
        else:
            self._half_counts = half_counts(uses)
        layers = history.sample.moe_layers
        self._heat.draw(colours, layers)
        self._heat.marks.mark_tiers(tiers)
        self._heat.marks.mark_half(self._half_counts if is_by_heat else None)
        self._place.draw(places, layers)
        self._skew.setText(skew_words(self._half_counts, uses.shape[1]))
        for expert_map in (self._heat, self._place):
            expert_map.set_column_title("Place by uses, most used first" if is_by_heat else "Expert id")
        top_k = self._model.top_k if self._model else 0
        self._scale.show_scale(window_words(history, window, top_k), hottest)
        self._show_reading()

    def _read_cell(self, row: int, place: int) -> None:
        self._cell = row, place
        self._show_reading()

    @property
    def scale_words(self) -> str:
        """What the colours count, and their range."""
        return self._scale.words

    @property
    def skew_text(self) -> str:
        """How few experts take half of the picks."""
        return self._skew.text()

    @property
    def reading(self) -> str:
        """The words about the chosen expert."""
        return self._reading.text()

    def _show_reading(self) -> None:
        if self._cell is None or self._order is None or not self._model or not self._history:
            self._reading.setText(_HINT)
            return
        row, place = self._cell
        expert = int(self._order[row, place])
        words = cell_words(self._model, self._history.sample, row, expert)
        skew = layer_skew_words(int(self._half_counts[row]), self._order.shape[1])
        self._reading.setText(f"{words} {skew}")

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._apply_theme()

    def _apply_theme(self) -> None:
        colours = plot_colours(self.palette())
        self._place.set_colours(place_table(colours))
        self._marks_legend.setText(_marks_html())
        tiers = tiers_of(self._model)[::-1] if self._model else tuple(Tier)
        entries = [(colours.tiers[tier], TIER_WORDS[tier]) for tier in tiers]
        moves = swatches_html(move_entries(colours, self._model))
        self._tier_legend.setText(f"{swatches_html(entries)}<br>Fading for 2 s: {moves}")


def _marks_html() -> str:
    """On the map's darkest colour, because a white outline would not show on a white window."""
    marks = (
        ("▣", POOL_COLOUR, "around the pool"),
        ("▣", HOT_COLOUR, "around the hot zone (zoom in to see both)"),
        ("┃", HALF_COLOUR, "half of the picks, sorted by uses"),
    )
    return "&nbsp;&nbsp; ".join(
        f'<span style="color:{colour};background-color:#440154">{sign}</span>&nbsp;'
        + words.replace(" ", "&nbsp;")
        for sign, colour, words in marks
    )
