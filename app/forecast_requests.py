"""Asks for forecasts on a thread of their own, so that reading a large header never holds up the window."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from PySide6.QtCore import QObject, Signal

from app.chosen_backend import SIMULATED_PATH
from app.load_forecast import forecast_change, forecast_load
from engine.config import LoadSettings
from engine.model_facts import ModelInfo


class ForecastRequests(QObject):
    """`answered` carries a ForecastAnswer; GUI thread. The thread starts with the first question.

    `devices_found` carries the names of this machine's devices, once: native code that tells them comes along
    with the first forecast of a file.
    """

    answered = Signal(object)
    devices_found = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._executor = ThreadPoolExecutor(1, "emberglass-forecast")
        self._is_closed = self._has_looked = False

    def ask(
        self, asked: LoadSettings, loaded: LoadSettings, model: ModelInfo | None, is_live: bool = False
    ) -> None:
        """What `loaded` would do, answered under the name of `asked`; `is_live`: `model` can go on with it.

        Returns at once; answers come in the order of the questions, none after `close`.
        """
        if not self._is_closed:
            self._executor.submit(self._answer, asked, loaded, model, is_live)

    def close(self) -> None:
        """Drop what waits and end the thread; what runs is finished first, a second at most."""
        self._is_closed = True
        self._executor.shutdown(wait=True, cancel_futures=True)

    def _answer(
        self, asked: LoadSettings, loaded: LoadSettings, model: ModelInfo | None, is_live: bool
    ) -> None:
        """On the thread; the signal crosses to the window's."""
        if is_live and model is not None:
            answer = forecast_change(loaded, model)
        else:
            answer = forecast_load(loaded, model)
        self.answered.emit(replace(answer, settings=asked))
        if not self._has_looked and loaded.path != SIMULATED_PATH:
            self._has_looked = True
            from engine.backends.local_devices import local_devices  # noqa: PLC0415 - loads native code

            self.devices_found.emit(local_devices())
