"""The one QObject that owns the engine: commands go in, events come out as Qt signals."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, QTimer, Signal

from engine.config import ChatMessage, LoadSettings, SamplingSettings
from engine.events import (
    EngineState,
    GenerationFinished,
    ModelAdjusted,
    ModelLoaded,
    ModelUnloaded,
    RequestFailed,
    TokensCounted,
    WarmUpFinished,
)
from engine.model_facts import ModelInfo
from engine.service import Engine

BUSY_MS = 33
IDLE_MS = 250
# Bounds the work of one tick: a flood of events is handed out in pieces, with the event loop in between.
EVENTS_PER_TICK = 200
_OUTCOMES = (
    ModelLoaded, ModelAdjusted, ModelUnloaded, GenerationFinished, WarmUpFinished, RequestFailed,
    TokensCounted,
)  # fmt: skip


class EngineBridge(QObject):
    """GUI thread only; no method but `close` ever waits.

    Drains the engine every 33 ms while a request runs, four times a second otherwise, at once when
    there was more than one tick may carry.
    """

    events_ready = Signal(list)

    def __init__(self, engine: Engine, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._running: set[int] = set()
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.drain)
        self._timer.start(IDLE_MS)

    def load(self, settings: LoadSettings) -> int:
        """Ask for a model; returns the request id."""
        return self._sent(self._engine.load(settings))

    def adjust(self, settings: LoadSettings) -> int:
        """Ask for other settings of the loaded model, without a load; returns the request id."""
        return self._sent(self._engine.adjust(settings))

    def unload(self) -> int:
        """Ask to free the model; returns the request id."""
        return self._sent(self._engine.unload())

    def generate(
        self,
        messages: Sequence[ChatMessage],
        sampling: SamplingSettings,
        is_continuation: bool = False,
        asked_ns: int | None = None,
    ) -> int:
        """Ask for an answer, or for more of the last one; returns the request id.

        `asked_ns` of `time.perf_counter_ns` is when the user asked, if that was earlier.
        """
        return self._sent(self._engine.generate(messages, sampling, is_continuation, asked_ns))

    def warm_up(self) -> int:
        """Ask to bring the experts into memory that will likely be wanted; returns the request id."""
        return self._sent(self._engine.warm_up())

    def count_tokens(self, messages: Sequence[ChatMessage]) -> int:
        """Ask how long the prompt of these messages is; returns the request id."""
        return self._sent(self._engine.count_tokens(messages))

    def cancel(self, request_id: int | None = None) -> None:
        """Stop one request, or all (None)."""
        self._engine.cancel(request_id)
        self._timer.start(BUSY_MS)

    @property
    def state(self) -> EngineState:
        return self._engine.state

    @property
    def model(self) -> ModelInfo | None:
        return self._engine.model

    @property
    def tick_ms(self) -> int:
        """Milliseconds until the next drain."""
        return self._timer.interval()

    def drain(self) -> None:
        """Emit what is new, at most EVENTS_PER_TICK events."""
        events = self._engine.drain(EVENTS_PER_TICK)
        for event in events:
            if isinstance(event, _OUTCOMES):
                self._running.discard(event.request_id)
        if self._timer.isActive():
            self._set_pace(0 if len(events) == EVENTS_PER_TICK else BUSY_MS if self._running else IDLE_MS)
        if events:
            self.events_ready.emit(events)

    def close(self, timeout_seconds: float = 1.5) -> bool:
        """Stop everything and wait for the engine; False if it is still busy when the time is over."""
        self._timer.stop()
        self._engine.close(timeout_seconds)
        return self._engine.state is EngineState.CLOSED

    def _sent(self, request_id: int) -> int:
        self._running.add(request_id)
        self._set_pace(BUSY_MS)
        return request_id

    def _set_pace(self, interval_ms: int) -> None:
        if self._timer.interval() != interval_ms:
            self._timer.setInterval(interval_ms)
