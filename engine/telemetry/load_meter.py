"""Turns the many progress reports of a load into few events with a rate."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from engine.events import Event, LoadPhase, LoadProgress

_MIN_GAP_NS = 50_000_000
_RATE_WINDOW_NS = 2_000_000_000


class LoadMeter:
    """Emits LoadProgress at most every 50 ms, and always the first and the last of each phase.

    `bytes_per_second` looks back two seconds within the phase, and is 0 outside DENSE_READ, where
    `done` counts steps. Engine thread only.
    """

    def __init__(self, emit: Callable[[Event], None], clock: Callable[[], int], request_id: int) -> None:
        self._emit = emit
        self._clock = clock
        self._request_id = request_id
        self._phase: LoadPhase | None = None
        self._held: LoadProgress | None = None
        self._emitted_ns = 0
        self._samples: deque[tuple[int, int]] = deque()

    def report(self, phase: LoadPhase, done: int, total: int) -> None:
        """Note one report; emits it now or holds it until the gap or the phase is over."""
        now = self._clock()
        is_new_phase = phase is not self._phase
        if is_new_phase:
            self.flush()
            self._phase = phase
            self._samples.clear()
        rate = self._rate(now, done) if phase is LoadPhase.DENSE_READ else 0.0
        self._held = LoadProgress(
            request_id=self._request_id,
            phase=phase,
            done_bytes=done,
            total_bytes=total,
            bytes_per_second=rate,
        )
        if is_new_phase or now - self._emitted_ns >= _MIN_GAP_NS:
            self._emitted_ns = now
            self.flush()

    def flush(self) -> None:
        """Emit the report that is still held, if any; call it when the load ends."""
        if self._held is not None:
            self._emit(self._held)
            self._held = None

    def _rate(self, now: int, done: int) -> float:
        self._samples.append((now, done))
        # one sample at or beyond the window's edge stays, so that the window is always spanned
        while len(self._samples) > 2 and now - self._samples[1][0] >= _RATE_WINDOW_NS:
            self._samples.popleft()
        then, done_then = self._samples[0]
        return (done - done_then) * 1e9 / (now - then) if now > then else 0.0
