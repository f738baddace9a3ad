"""The engine's only thread-safe door: commands in, events out, one worker thread behind it."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence

from engine.backends.base import InferenceBackend
from engine.commands import (
    Adjust,
    Command,
    CountTokens,
    Generate,
    Load,
    Mailbox,
    Unload,
    WarmUp,
    cancelled_outcome,
)
from engine.config import ChatMessage, LoadSettings, SamplingSettings
from engine.errors import StateError
from engine.events import EngineState, Event, RequestFailed
from engine.model_facts import ModelInfo
from engine.telemetry.event_queue import EventQueue
from engine.worker import Worker


class Engine:
    """Loads one model at a time and answers messages; every method may be called from any thread.

    `load`, `adjust`, `unload`, `generate`, `warm_up` and `count_tokens` return a request id at once; the
    outcome comes as events with that id. Commands run in the order they were given: a load waits for the
    answers before it.

    Each request ends with exactly one event: a load with ModelLoaded or RequestFailed, an adjustment with
    ModelAdjusted or RequestFailed, an unload with ModelUnloaded or RequestFailed, a generation with
    GenerationFinished or RequestFailed, a warm-up with WarmUpFinished or RequestFailed, a count with
    TokensCounted or RequestFailed. A cancelled load, warm-up or count fails with kind "Cancelled" (what a
    warm-up has read stays in memory); a cancelled generation finishes with reason CANCELLED and the text so
    far, empty if it never started. Loading frees the model before it, also if the new one then fails; that,
    and closing, is told by a ModelUnloaded with request id 0.
    """

    def __init__(
        self,
        backend_factory: Callable[[], InferenceBackend],
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        """Start the worker thread; `backend_factory` runs there, at the first load."""
        self._clock = clock
        self._ids = itertools.count(1)
        self._events = EventQueue(clock)
        self._mailbox = Mailbox()
        self._worker = Worker(backend_factory, self._mailbox, self._events.put, clock)
        # not a daemon: native memory must be freed by its owner, never torn down while it computes
        self._thread = threading.Thread(target=self._worker.run, name="emberglass-engine")
        self._thread.start()

    def load(self, settings: LoadSettings) -> int:
        """Load a model; frees the one before it."""
        return self._post(Load(request_id=next(self._ids), queued_ns=self._clock(), settings=settings))

    def adjust(self, settings: LoadSettings) -> int:
        """Let the loaded model go on with these settings, without a load; after the answers before it.

        What can change so: placement.live_settings; other changes fail with kind "UsageError". A cancel
        while it runs leaves what it would read to the next answer.
        """
        return self._post(Adjust(request_id=next(self._ids), queued_ns=self._clock(), settings=settings))

    def unload(self) -> int:
        """Free the model; ends with ModelUnloaded even if there was none."""
        return self._post(Unload(request_id=next(self._ids), queued_ns=self._clock()))

    def generate(
        self,
        messages: Sequence[ChatMessage],
        sampling: SamplingSettings,
        is_continuation: bool = False,
        asked_ns: int | None = None,
    ) -> int:
        """Answer the last of `messages`; its time to first token counts from `asked_ns` on the engine's clock
        (None: from this call), so that a load which the caller waited for is a part of it.

        A continuation goes on with the last message, an assistant's; only new text is reported.
        """
        command = Generate(
            request_id=next(self._ids),
            queued_ns=self._clock() if asked_ns is None else asked_ns,
            messages=tuple(messages),
            sampling=sampling,
            is_continuation=is_continuation,
        )
        return self._post(command)

    def warm_up(self) -> int:
        """Bring the experts into memory that will likely be wanted; the KV cache stays as it is."""
        return self._post(WarmUp(request_id=next(self._ids), queued_ns=self._clock()))

    def count_tokens(self, messages: Sequence[ChatMessage]) -> int:
        """Count the prompt of `messages` as `generate` would send it; nothing is computed."""
        command = CountTokens(request_id=next(self._ids), queued_ns=self._clock(), messages=tuple(messages))
        return self._post(command)

    def cancel(self, request_id: int | None = None) -> None:
        """Stop one load, generation or warm-up, or all that run or wait (None); unknown ids are ignored.

        Waiting requests end at once, the running one within a second.
        """
        for command in self._mailbox.cancel(request_id):
            self._events.put(cancelled_outcome(command))

    def drain(self, max_events: int = 500) -> list[Event]:
        """Up to `max_events` new events in `seq` order; each is handed out once. Never blocks."""
        return self._events.drain(max_events)

    def wait_for_events(self, timeout_seconds: float) -> bool:
        """Block until `drain` has something to give (True) or the time is over (False)."""
        return self._events.wait(timeout_seconds)

    @property
    def state(self) -> EngineState:
        """What the worker is doing now; events tell the same in order."""
        return self._worker.state

    @property
    def model(self) -> ModelInfo | None:
        """The loaded model, or None."""
        return self._worker.model

    @property
    def dropped_metrics(self) -> int:
        """Metric events dropped because nobody drained them (cumulative)."""
        return self._events.dropped_metrics

    def close(self, timeout_seconds: float = 5.0) -> None:
        """Cancel everything, free the model and join the worker; idempotent.

        Returns after `timeout_seconds` at the latest; a worker that is stuck in native code by then
        ends by itself once that returns. Requests made after this fail with kind "StateError".
        """
        self._mailbox.close()
        self.cancel()
        self._thread.join(timeout_seconds)

    def _post(self, command: Command) -> int:
        if not self._mailbox.post(command):
            error = StateError("The engine is closed.", "Start the program again.")
            self._events.put(RequestFailed(request_id=command.request_id, error=error.info))
        return command.request_id
