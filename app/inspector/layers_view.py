"""What each expert layer cost: computing, waits and misses."""

from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QComboBox, QFormLayout, QVBoxLayout, QWidget

from app.expert_history import Phase
from app.inspector.cost_bars import CostBars, cost_colours
from app.inspector.cost_words import COST_WORDS, cost_rows, cost_words
from app.inspector.expert_words import PHASE_CHOICES, missing_figures
from app.inspector.figure_table import FigureTable
from app.inspector.figures import seconds_text
from app.inspector.notice_page import NoticePage
from app.inspector.plot_theme import plot_colours, swatches_html
from app.inspector.wrapped_label import FigureLabel, wrapped_label
from app.layer_costs import RECENT_NS, LayerCosts
from app.telemetry_store import TelemetryStore

TIME_CHOICES = {f"The last {seconds_text(RECENT_NS)}": True, "Since the model was loaded": False}
_HEADING = ("Layer", "Compute", "Disk", "Link", "Own", "Misses")


class LayersView(NoticePage):
    """Keeps a snapshot of what it drew, so that choices also work while paused."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._costs: LayerCosts | None = None
        self._phase, self._time = QComboBox(), QComboBox()
        self._bars = CostBars()
        self._legend = wrapped_label("Legend of the layers’ costs")
        self._words = FigureLabel("The costliest layer")
        self._table = FigureTable("Costliest layers", _HEADING)
        choices = QFormLayout()
        for box, name, words, entries in (
            (self._phase, "Phase counted", "Count", PHASE_CHOICES),
            (self._time, "Time counted", "Over", TIME_CHOICES),
        ):
            box.setAccessibleName(name)
            for text, value in entries.items():
                box.addItem(text, value)
            box.currentIndexChanged.connect(self._paint)
            choices.addRow(words, box)
        layout = QVBoxLayout(self.content)
        layout.addLayout(choices)
        layout.addWidget(self._bars, 1)
        for widget in (self._legend, self._words, self._table):
            layout.addWidget(widget)
        self._apply_theme()

    @property
    def words(self) -> str:
        """The sentence about the costliest layer."""
        return self._words.words

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The costliest layers, and the sum over all."""
        return self._table.rows

    def draw(self, store: TelemetryStore) -> None:
        """Show the newest sample, or a sentence why there is none."""
        words = missing_figures(store)
        if not words and store.layers is None:
            words = "No figures about layers yet. They come with the first answer."
        self.show_notice(words)
        self._costs = store.layers.snapshot() if store.layers else None
        self._paint()

    def _paint(self) -> None:
        if self.notice or self._costs is None:
            return
        totals = self._costs.totals(Phase(self._phase.currentData()), self._time.currentData())
        layers = self._costs.layers
        self._bars.draw(totals, layers)
        self._words.say(cost_words(totals, layers))
        self._table.show_rows(cost_rows(totals, layers))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._apply_theme()

    def _apply_theme(self) -> None:
        colours = cost_colours(plot_colours(self.palette()))
        self._legend.setText(swatches_html([(colours[name], words) for name, words in COST_WORDS.items()]))
