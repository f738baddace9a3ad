"""Carries what the budget controls want to the models and back: forecasts, and reloads after a question."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget

from app.chat.answering import Answering
from app.forecast_requests import ForecastRequests
from app.inspector.budget_panel import BudgetPanel
from app.models.load_dialog import LoadDialog
from app.models.models import Models
from app.warm_up_requests import WarmUpRequests
from engine.config import LoadSettings
from engine.placement.live_settings import needing_reload

_QUESTION = "An answer is being written."
_WORDS = "The model can be reloaded when the answer is finished, or at once; what is written so far is kept."


class BudgetRequests(ForecastRequests):
    """GUI thread."""

    def __init__(
        self,
        panel: BudgetPanel,
        models: Models,
        answering: Answering,
        warm_ups: WarmUpRequests,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._panel, self._models, self._window = panel, models, window
        self._answering, self._warm_ups = answering, warm_ups
        panel.forecast_wanted.connect(self.ask_for)
        panel.reload_wanted.connect(self.ask_reload)
        panel.adjust_wanted.connect(models.adjust)
        panel.undone.connect(models.cancel_adjusting)
        models.changed.connect(self.show_asked)
        models.asking.connect(self._serve_dialog)
        self.answered.connect(panel.show_forecast)
        self.devices_found.connect(self._take_devices)

    def _take_devices(self, names: tuple[str, ...]) -> None:
        self._models.local_devices = names
        self.show_asked()

    def show_asked(self) -> None:
        """Tell the panel what was asked, and which devices there are."""
        self._panel.show_coming(self._models.adjusting)
        self._panel.show_asked(self._models.last, self._models.known_devices)

    def ask_for(self, settings: LoadSettings) -> None:
        """What would a load do, once the model that is loaded is freed?"""
        model, last, wanted = self._models.model, self._models.last, self._models.complete(settings)
        is_live = model is not None and last is not None and not needing_reload(last, wanted, model)
        self.ask(settings, wanted, model, is_live)

    def ask_reload(self, settings: LoadSettings) -> None:
        """Load with these settings; an answer in the making is asked about first."""
        if not self._answering.is_busy:
            self._reload(settings)
            return
        box = QMessageBox(QMessageBox.Icon.Question, "Reload the model", _QUESTION,
                          QMessageBox.StandardButton.Cancel, self._window)  # fmt: skip
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setInformativeText(_WORDS)
        later = box.addButton("After the answer", QMessageBox.ButtonRole.AcceptRole)
        at_once = box.addButton("Stop it and reload", QMessageBox.ButtonRole.DestructiveRole)
        box.setDefaultButton(later)
        later.clicked.connect(lambda: self._reload(settings))
        at_once.clicked.connect(lambda: self._stop_and_reload(settings))
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.open()

    def _stop_and_reload(self, settings: LoadSettings) -> None:
        for conversation_id in self._answering.busy_conversations:
            self._answering.stop(conversation_id)
        self._reload(settings)

    def _reload(self, settings: LoadSettings) -> None:
        """The engine loads after the answers before it; a warm-up of what is freed would be in vain."""
        self._warm_ups.stop()
        self._models.load(settings)

    def _serve_dialog(self, dialog: LoadDialog) -> None:
        dialog.forecast_wanted.connect(self.ask_for)
        self.answered.connect(dialog.show_forecast)
