"""Samples counters and expert detail between passes, not more often than anyone can look."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from engine.events import Counters, CountersSampled, Event, ExpertsSampled, LayersSampled

_COUNTERS_GAP_NS = 50_000_000
_DETAILS_GAP_NS = 200_000_000


class PassSampler:
    """Emits CountersSampled at most every 50 ms, ExpertsSampled and LayersSampled at most every 200 ms.

    `finish` always emits all, so that the last figures of a phase are exact. Engine thread only.
    """

    def __init__(
        self,
        read_counters: Callable[[], Counters],
        read_experts: Callable[[], ExpertsSampled | None],
        read_layers: Callable[[], LayersSampled | None],
        emit: Callable[[Event], None],
        clock: Callable[[], int],
    ) -> None:
        self._read_counters = read_counters
        self._read_experts = read_experts
        self._read_layers = read_layers
        self._emit = emit
        self._clock = clock
        self._counters_due_ns = self._details_due_ns = clock()

    def pass_done(self, request_id: int) -> None:
        """Sample what is due; call it after every pass."""
        now = self._clock()
        if now >= self._counters_due_ns:
            self._sample_counters(request_id, now)
        if now >= self._details_due_ns:
            self._sample_details(request_id, now)

    def finish(self, request_id: int) -> None:
        """Sample everything now; call it at the end of a load, a prefill and an answer."""
        now = self._clock()
        self._sample_counters(request_id, now)
        self._sample_details(request_id, now)

    def _sample_counters(self, request_id: int, now: int) -> None:
        self._counters_due_ns = now + _COUNTERS_GAP_NS
        self._emit(CountersSampled(request_id=request_id, counters=self._read_counters()))

    def _sample_details(self, request_id: int, now: int) -> None:
        self._details_due_ns = now + _DETAILS_GAP_NS
        for sample in (self._read_experts(), self._read_layers()):
            if sample is not None:
                self._emit(dataclasses.replace(sample, request_id=request_id))
