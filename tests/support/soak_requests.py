"""Waits for the ends of requests, cancels some of them on the way, and notices what must not happen."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass

from engine.events import (
    Event,
    GenerationFinished,
    GenerationStarted,
    LoadStarted,
    RequestFailed,
    StateChanged,
    TextDelta,
)
from engine.service import Engine
from tests.support.engine_driver import is_outcome

_PATIENCE_SECONDS = 1800.0  # beside busy work, "nice -n 19" may get a hundredth of a core
_LATE_CANCEL_CPU_SECONDS = 2.0  # of this process: a stop may also wait for other processes
_POLL_SECONDS = 0.5


class StuckError(Exception):
    """A request did not end."""


@dataclass(frozen=True, slots=True)
class CancelPlan:
    """Cancel after so many seconds or after so many events of the request, whichever comes first."""

    after_seconds: float
    after_events: int


class Requests:
    """One engine's requests; `faults` are in words, `cancels` count by what was going on."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._ended: set[int] = set()
        self._phase = "waiting"
        self.faults: list[str] = []
        self.cancels: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.slowest_stop_seconds = 0.0

    def outcome(self, request_id: int, plan: CancelPlan | None = None) -> Event:
        """The event that ends the request, which is cancelled on the way if `plan` says so."""
        started, seen, cancelled_at = time.monotonic(), 0, 0.0
        cpu_at_cancel = 0.0
        self._phase = "waiting"
        while (now := time.monotonic()) - started < _PATIENCE_SECONDS:
            if plan and not cancelled_at and self._is_time(plan, now - started, seen):
                self._engine.cancel(request_id)
                cancelled_at, cpu_at_cancel = now, time.process_time()
                self.cancels[self._phase] += 1
            for event in self._engine.drain(1):
                seen += event.request_id == request_id
                self._note(event)
                if is_outcome(event) and event.request_id == request_id:
                    self._note_stop(cancelled_at, cpu_at_cancel)
                    return event
            rest = plan.after_seconds - (now - started) if plan and not cancelled_at else _POLL_SECONDS
            self._engine.wait_for_events(max(0.0, min(rest, _POLL_SECONDS)))
        raise StuckError(f"request {request_id} did not end in {_PATIENCE_SECONDS:.0f} s ({self._phase})")

    def expect(self, event: Event, *allowed_errors: str) -> bool:
        """Whether the request succeeded; a failure of a kind that isn't allowed is a fault."""
        if not isinstance(event, RequestFailed):
            return True
        if event.error.kind not in (*allowed_errors, "Cancelled"):
            self.faults.append(f"{event.error.kind}: {event.error} {event.error.detail}")
        return False

    @staticmethod
    def _is_time(plan: CancelPlan, seconds: float, events: int) -> bool:
        return seconds >= plan.after_seconds or events >= plan.after_events

    def _note(self, event: Event) -> None:
        if isinstance(event, LoadStarted):
            self._phase = "loading"
        elif isinstance(event, GenerationStarted):
            self._phase = "prefill"
        elif isinstance(event, TextDelta):
            self._phase = "decode"
        elif isinstance(event, StateChanged):
            self._phase = event.state.value if event.state.value == "warming_up" else self._phase
        if is_outcome(event) and event.request_id:
            self._note_end(event)

    def _note_end(self, event: Event) -> None:
        if event.request_id in self._ended:
            self.faults.append(f"request {event.request_id} ended twice")
        self._ended.add(event.request_id)
        if isinstance(event, RequestFailed):
            self.errors[event.error.kind] += 1
        elif isinstance(event, GenerationFinished):
            self.errors[f"finished: {event.reason.value}"] += 1

    def _note_stop(self, cancelled_at: float, cpu_at_cancel: float) -> None:
        if cancelled_at:
            seconds = time.monotonic() - cancelled_at
            self.slowest_stop_seconds = max(self.slowest_stop_seconds, seconds)
            if time.process_time() - cpu_at_cancel > _LATE_CANCEL_CPU_SECONDS:
                self.faults.append(f"a stop in {self._phase} took {seconds:.1f} s")
