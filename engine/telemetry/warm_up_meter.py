"""Turns the many progress reports of a warm-up into few events."""

from __future__ import annotations

from collections.abc import Callable

from engine.events import Event, WarmUpProgress

_MIN_GAP_NS = 100_000_000


class WarmUpMeter:
    """Emits WarmUpProgress at most every 100 ms, and always the first and the last. Engine thread only."""

    def __init__(self, emit: Callable[[Event], None], clock: Callable[[], int], request_id: int) -> None:
        self._emit = emit
        self._clock = clock
        self._request_id = request_id
        self._held: WarmUpProgress | None = None
        self._due_ns = clock()

    def report(self, done_experts: int, total_experts: int, bytes_read: int) -> None:
        """Note one report; emits it now or holds it until the next is due."""
        self._held = WarmUpProgress(
            request_id=self._request_id,
            done_experts=done_experts,
            total_experts=total_experts,
            bytes_read=bytes_read,
        )
        if self._clock() >= self._due_ns:
            self._due_ns = self._clock() + _MIN_GAP_NS
            self.flush()

    def flush(self) -> None:
        """Emit the report that is still held, if any; call it at the end."""
        if self._held is not None:
            self._emit(self._held)
            self._held = None
