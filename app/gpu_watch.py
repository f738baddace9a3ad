"""Decides when the graphics cards are looked at, and hands what they say to the inspector."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer

from app.inspector.inspector_dock import REFRESH_MS, InspectorDock
from engine.model_facts import ModelInfo
from engine.telemetry.gpu_sampler import GpuSampler

_REMOTE = "rpc:"


class GpuWatch(QObject):
    """Samples while the inspector is open or a model is on a card of this machine. GUI thread."""

    def __init__(self, inspector: InspectorDock, sampler: GpuSampler, parent: QObject) -> None:
        super().__init__(parent)
        self._inspector, self._sampler = inspector, sampler
        self._model: ModelInfo | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(REFRESH_MS)
        self._timer.timeout.connect(self._hand_over)
        inspector.visibilityChanged.connect(lambda _is_visible: self._decide())

    def take_model(self, model: ModelInfo | None) -> None:
        """The model that is loaded now."""
        self._model = model
        self._decide()

    @property
    def is_sampling(self) -> bool:
        return self._timer.isActive()

    def close(self) -> None:
        self._timer.stop()
        self._sampler.close()

    def _decide(self) -> None:
        is_open = not self._inspector.isHidden()
        is_wanted = self._sampler.has_cards is not False and (is_open or self._is_on_a_card())
        self._sampler.set_wanted(is_wanted)
        if is_wanted and not self._timer.isActive():
            self._timer.start()
        elif not is_wanted:
            self._timer.stop()

    def _is_on_a_card(self) -> bool:
        devices = self._model.devices if self._model else ()
        return any(not device.name.startswith(_REMOTE) for device in devices)

    def _hand_over(self) -> None:
        """Without a card there is nothing to hand over, ever."""
        if self._sampler.has_cards is False:
            self._timer.stop()
        else:
            self._inspector.show_cards(self._sampler.latest)
