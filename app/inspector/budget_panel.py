"""Budget controls: what is in force, what other values would do, and a reload with them."""

from __future__ import annotations

import time
from itertools import pairwise

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.forecast_words import forecast_rows, hit_rate_basis
from app.inspector.budget_cards import card_rows
from app.inspector.budget_effects import differences, states
from app.inspector.fidelity_meter import FidelityMeter
from app.inspector.figure_table import FigureTable
from app.load_fields import LoadFields
from app.load_forecast import Forecast, ForecastAnswer, model_forecast
from app.telemetry_store import TelemetryStore
from engine.config import LoadSettings
from engine.events import EngineState
from engine.model_facts import ModelInfo
from engine.placement.live_settings import needing_reload
from engine.telemetry.gpu_sampler import GpuSample

_FIELDS = (
    "ram_budget_bytes", "pool_per_layer", "hot_per_layer", "unit_tokens", "routing", "is_pool_fixed",
    "repack", "devices", "vram_budget_bytes", "staging_slots",
)  # fmt: skip
_ASK_DELAY_MS = 250
_NOTHING = "Budgets belong to a model. Open one, then its settings are here."
_RECORDED = "A recording shows how it was; its settings can’t be changed."
_AFTER = {EngineState.GENERATING: "after this answer", EngineState.WARMING_UP: "after the warm-up"}
_LOAD, _RELOAD, _APPLY = "Load", "Reload", "Apply"
_HELP = {
    _LOAD: "Load the model with the values above.",
    _RELOAD: "Load the model anew with the values above; the conversation is kept.",
    _APPLY: "Go on with the values above; what is in memory stays there.",
}
_ABOUT = (
    "Change what you like, see below what it would do, then apply it, or reload where that is needed. "
    "An empty field is automatic."
)


class BudgetPanel(QWidget):
    """Nothing changes before the button is pressed; then `reload_wanted` carries LoadSettings, or
    `adjust_wanted` if the loaded model can go on with them.

    `undone`: what the model would go on with is not wanted any more.
    `forecast_wanted` carries LoadSettings whose effect is asked for; the answer comes by `show_forecast`.
    """

    forecast_wanted = Signal(object)
    reload_wanted = Signal(object)
    adjust_wanted = Signal(object)
    undone = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.is_live = True
        self._asked: LoadSettings | None = None
        self._coming: LoadSettings | None = None
        self._known_devices: tuple[str, ...] = ()
        self._model: ModelInfo | None = None
        self._state = EngineState.EMPTY
        self._now: Forecast | None = None
        self._then: ForecastAnswer | None = None
        self._is_forecast_due = False  # asked for when it is seen
        self._cards: GpuSample | None = None
        self.fields: LoadFields | None = None
        self._about, self._differences, self._basis = _words(), _words(), _words()
        self._differences.setAccessibleName("What differs from what you asked for")
        self.fidelity = FidelityMeter()
        self.reload, self.undo = QPushButton(_RELOAD), QPushButton("Undo changes")
        self._forecast = FigureTable("Forecast", ("Forecast", "Now", "Then"))
        self._card_table = FigureTable("Graphics cards", ("Graphics cards, by the driver", ""))
        self._delay = QTimer(self, singleShot=True, interval=_ASK_DELAY_MS)
        self._delay.timeout.connect(self._ask_forecast)
        self.reload.clicked.connect(self._reload)
        self.undo.clicked.connect(self._undo)
        self._build_layout()
        self._show_all()

    def _build_layout(self) -> None:
        buttons = QHBoxLayout()
        buttons.addWidget(self.reload)
        buttons.addWidget(self.undo)
        buttons.addStretch(1)
        self._layout = QVBoxLayout(self)
        self._layout.addWidget(self._about)
        self._layout.addWidget(self._differences)
        self._layout.addLayout(buttons)
        for widget in (self._forecast, self._basis, self._card_table):
            self._layout.addWidget(widget)
        self._layout.addStretch(1)

    # --- what is shown ------------------------------------------------------------------------

    @property
    def about(self) -> str:
        return self._about.text()

    @property
    def differences(self) -> str:
        return self._differences.text()

    @property
    def basis(self) -> str:
        """What the forecast rests on, and what it can't know."""
        return self._basis.text()

    @property
    def forecast_rows(self) -> tuple[tuple[str, ...], ...]:
        return self._forecast.rows

    @property
    def card_rows(self) -> tuple[tuple[str, ...], ...]:
        """What the cards say; empty without one."""
        return () if self._card_table.isHidden() else self._card_table.rows

    def show_coming(self, settings: LoadSettings | None) -> None:
        """What the model will go on with, while that is on its way."""
        if settings != self._coming:
            self._coming = settings
            self._show_all()

    def show_asked(self, asked: LoadSettings | None, known_devices: tuple[str, ...]) -> None:
        """What was asked for the model that was loaded last, and which devices there are."""
        if (asked, known_devices) == (self._asked, self._known_devices):
            return
        self._asked, self._known_devices = asked, known_devices
        if asked is None:
            return
        if self.fields is None:
            self.fields = self._new_fields(asked)
        self.fields.show_settings(asked, known_devices)
        for before, after in pairwise([*self.fields.focus_chain(), self.reload, self.undo]):
            QWidget.setTabOrder(before, after)
        self._now = self._then = None
        self._is_forecast_due = True
        self._show_all()

    def _new_fields(self, asked: LoadSettings) -> LoadFields:
        fields = LoadFields(_FIELDS, asked)
        fields.add_below("routing", self.fidelity)
        fields.changed.connect(self._edited)
        self._layout.insertWidget(1, fields)
        return fields

    def show_cards(self, sample: GpuSample | None) -> None:
        """The newest sample of the graphics cards; drawn with the next `draw`."""
        self._cards = sample

    def draw(self, store: TelemetryStore) -> None:
        """Show the model that is loaded, or the one of a recording."""
        self.fidelity.draw(store.counters, store.model.routing if store.model else None)
        rows = card_rows(self._cards, time.perf_counter_ns()) if self.is_live else []
        self._card_table.setVisible(bool(rows))
        self._card_table.show_rows(rows)
        if (store.model, store.state, self.is_live) != self._shown:
            self._is_forecast_due |= store.model is not self._model
            self._model, self._state = store.model, store.state
            self._show_all()
        if self._is_forecast_due and self.is_live and self._state is not EngineState.LOADING:
            self._is_forecast_due = False
            self._ask_forecasts()

    def show_forecast(self, answer: ForecastAnswer) -> None:
        """An answer to `forecast_wanted`; one that was overtaken is dropped."""
        if answer.settings == self._asked:
            self._now = answer.forecast
        if self.fields is not None and answer.settings == self.fields.chosen.settings:
            self._then = answer
        self._show_all()

    # --- drawing ------------------------------------------------------------------------------

    def _show_all(self) -> None:
        self._shown = (self._model, self._state, self.is_live)
        self._about.setText(_NOTHING if self._asked is None else _ABOUT if self.is_live else _RECORDED)
        has_form = self.fields is not None and self.is_live
        for widget in (self.reload, self.undo, self._forecast, self._basis, self._differences):
            widget.setVisible(has_form)
        if self.fields is not None:
            self.fields.setVisible(has_form)
            if has_form:
                self._show_form(self.fields)

    def _show_form(self, fields: LoadFields) -> None:
        changed, asked, model = fields.changed_names, fields.base, self._model
        found = {} if model is None else states(asked, model)
        notes = self._change_notes(fields)
        fields.show_states(
            {
                name: " · ".join(filter(None, (found.get(name, ""), notes.get(name, ""))))
                for name in fields.rows
            }
        )
        words = [] if model is None else differences(asked, model)
        self._differences.setText("\n".join(f"• {each}" for each in words))
        self._differences.setVisible(bool(words))
        self._show_forecasts(fields)
        word = _LOAD if model is None else _APPLY if self._is_live(fields) else _RELOAD
        self.reload.setText(word)
        self.reload.setToolTip(_HELP[word])
        self.reload.setEnabled(self._may_reload(fields))
        self.undo.setEnabled(bool(changed))

    def _needing_reload(self, fields: LoadFields) -> set[str]:
        """Of what was changed; without a model, or with values that are none, all of it."""
        wanted = fields.chosen.settings
        if wanted is None or self._model is None:
            return set(fields.changed_names)
        return set(needing_reload(fields.base, wanted, self._model))

    def _is_live(self, fields: LoadFields) -> bool:
        """Whether something was changed, and nothing of it needs a reload."""
        return bool(fields.changed_names) and not self._needing_reload(fields)

    def _change_notes(self, fields: LoadFields) -> dict[str, str]:
        """How each changed value would come into force."""
        needing = self._needing_reload(fields)
        when = _AFTER.get(self._state, "")
        if self._coming is not None and self._coming == fields.chosen.settings:
            live = f"will apply {when}" if when else "is being applied"
        elif needing:
            live = "needs no reload"
        else:
            live = f"applies {when or 'at once'}"
        return {name: "needs a reload" if name in needing else live for name in fields.changed_names}

    def _show_forecasts(self, fields: LoadFields) -> None:
        then = self._then if self._then and self._then.settings == fields.chosen.settings else None
        fields.show_refusal("" if then is None or then.error is None else str(then.error))
        now = self._now
        if self._model is not None:
            now = model_forecast(self._model, now)
        self._forecast.show_rows(forecast_rows(now, then.forecast if then else None))
        basis = then.forecast if then and then.forecast else self._now
        words = (hit_rate_basis(basis), *basis.notes) if basis else ()
        self._basis.setText(" ".join(filter(None, words)))

    def _may_reload(self, fields: LoadFields) -> bool:
        """Also without a change: a device that was lost may be back."""
        is_refused = self._then is not None and self._then.error is not None
        is_free = self._state is not EngineState.LOADING and self._coming is None
        return is_free and not is_refused and fields.chosen.settings is not None

    # --- what the user does -------------------------------------------------------------------

    def _edited(self) -> None:
        self._then = None
        self._show_all()
        self._delay.start()

    def _ask_forecasts(self) -> None:
        """After a load: what is expected of it, and of what the form says."""
        if self._asked is not None:
            self.forecast_wanted.emit(self._asked)
        self._ask_forecast()

    def _ask_forecast(self) -> None:
        wanted = None if self.fields is None else self.fields.chosen.settings
        if wanted is not None and wanted != self._asked:
            self.forecast_wanted.emit(wanted)

    def _reload(self) -> None:
        wanted = None if self.fields is None else self.fields.chosen.settings
        if wanted is not None and self.fields is not None:
            (self.adjust_wanted if self._is_live(self.fields) else self.reload_wanted).emit(wanted)

    def _undo(self) -> None:
        if self.fields is not None:
            self.fields.undo()
            self.undone.emit()
            # the button is disabled now; the focus would be lost
            next(iter(self.fields.texts.values())).setFocus()


def _words() -> QLabel:
    label = QLabel()
    label.setWordWrap(True)
    return label
