"""Rates from cumulative counters: one row per sampling interval in a bounded ring."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import Counters

FIELDS = (
    "prefill_tokens",
    "decode_tokens",
    "prefill_ns",
    "decode_ns",
    "disk_wait_ns",
    "disk_busy_ns",
    "bytes_read",
    "expert_requests",
    "expert_misses",
    "expert_streamed",
    "evictions",
    "passes",
)
_COLUMN = {name: i for i, name in enumerate(FIELDS)}
# bytes are counted when a read ends, so a shorter time makes an absurd peak out of a few finished reads
_PEAK_SPAN_NS = 500_000_000


@dataclass(frozen=True, slots=True)
class WindowTotals:
    """What the counters grew by in `span_ns`; every figure is a plain sum of sampled differences."""

    span_ns: int
    prefill_tokens: int
    decode_tokens: int
    prefill_ns: int
    decode_ns: int
    disk_wait_ns: int
    disk_busy_ns: int
    bytes_read: int
    expert_requests: int
    expert_misses: int
    expert_streamed: int
    evictions: int
    passes: int

    @property
    def bytes_per_second(self) -> float:
        return self.bytes_read * 1e9 / self.span_ns

    @property
    def evictions_per_second(self) -> float:
        return self.evictions * 1e9 / self.span_ns

    @property
    def disk_wait_share(self) -> float:
        """0..1; a wait is counted when it ends, so a long one may exceed the interval: capped."""
        return min(1.0, self.disk_wait_ns / self.span_ns)

    @property
    def hit_share(self) -> float | None:
        return hit_share(self.expert_requests, self.expert_misses)

    @property
    def prefill_tokens_per_second(self) -> float | None:
        return speed_per_second(self.prefill_tokens, self.prefill_ns, self.span_ns)

    @property
    def decode_tokens_per_second(self) -> float | None:
        return speed_per_second(self.decode_tokens, self.decode_ns, self.span_ns)


@dataclass(frozen=True, slots=True)
class RateSeries:
    """Equal-length arrays, oldest first; a rate holds from `start_ns` to `t_ns` of its interval.

    `deltas`: what the counters grew by in each interval, shape (intervals, FIELDS).
    """

    start_ns: NDArray[np.int64]
    t_ns: NDArray[np.int64]
    prefill_tokens_per_second: NDArray[np.float64]
    decode_tokens_per_second: NDArray[np.float64]
    bytes_per_second: NDArray[np.float64]
    disk_wait_share: NDArray[np.float64]
    deltas: NDArray[np.int64]

    def between(self, start_ns: int, end_ns: int) -> RateSeries:
        """The intervals that touch this time."""
        first = int(np.searchsorted(self.t_ns, start_ns, side="right"))
        return self._part(slice(first, int(np.searchsorted(self.start_ns, end_ns))))

    def mostly_between(self, start_ns: int, end_ns: int) -> RateSeries:
        """The intervals whose middle lies in this time."""
        first, last = np.searchsorted((self.start_ns + self.t_ns) // 2, (start_ns, end_ns))
        return self._part(slice(int(first), int(last)))

    def totals(self) -> WindowTotals | None:
        """Sums over all intervals; the span is the sampled time, without gaps. None without intervals."""
        if not len(self.t_ns):
            return None
        span_ns = int((self.t_ns - self.start_ns).sum())
        return WindowTotals(span_ns, *(int(d) for d in self.deltas.sum(axis=0)))

    def _part(self, rows: slice) -> RateSeries:
        return RateSeries(
            self.start_ns[rows],
            self.t_ns[rows],
            self.prefill_tokens_per_second[rows],
            self.decode_tokens_per_second[rows],
            self.bytes_per_second[rows],
            self.disk_wait_share[rows],
            self.deltas[rows],
        )


def hit_share(requests: int, misses: int) -> float | None:
    """Share of expert requests served without waiting for a read; None without requests."""
    return (requests - misses) / requests if requests > 0 else None


def speed_per_second(tokens: int, phase_ns: int, span_ns: int) -> float | None:
    """Tokens per second of the time spent in the phase (of the whole span if that isn't counted).

    None without tokens: a speed of 0 would claim that the phase ran and produced nothing.
    """
    elapsed_ns = phase_ns or span_ns
    return tokens * 1e9 / elapsed_ns if tokens > 0 and elapsed_ns > 0 else None


def counter_deltas(earlier: Counters, later: Counters) -> NDArray[np.int64] | None:
    """Growth per FIELDS, shape (fields,); None when a counter fell, i.e. counting began anew."""
    delta = np.array([getattr(later, f) - getattr(earlier, f) for f in FIELDS], np.int64)
    return None if (delta < 0).any() else delta


class CounterRates:
    """Ring of intervals between counter samples; one thread. Lost samples only make intervals longer."""

    def __init__(self, capacity: int = 12_000) -> None:
        self._start_ns = np.zeros(capacity, np.int64)
        self._t_ns = np.zeros(capacity, np.int64)
        self._delta = np.zeros((capacity, len(FIELDS)), np.int64)
        self._rate = np.zeros((capacity, 4), np.float64)
        self._rows = 0
        self._last: tuple[int, Counters] | None = None
        self._window_begin = 0  # rows before this count belong to earlier work
        self.peak_bytes_per_second = 0.0

    def __len__(self) -> int:
        return min(self._rows, len(self._t_ns))

    def restart(self) -> None:
        """Counting begins anew (another model): the next sample is a new zero line."""
        self._last = None
        self._window_begin = self._rows

    def mark_idle_until(self, t_ns: int) -> None:
        """Nothing ran since the last sample: close the gap with zeros and begin the window anew.

        Otherwise the idle time would dilute the next rate and every share of the last seconds.
        """
        if self._last is None or t_ns <= self._last[0]:
            return
        last_ns, counters = self._last
        self._append(last_ns, t_ns, np.zeros(len(FIELDS), np.int64))
        self._last = t_ns, counters
        self._window_begin = self._rows

    def add(self, t_ns: int, counters: Counters) -> None:
        """Take a sample; without time passed it is left to the next one, which covers both."""
        if self._last is None:
            self._last = t_ns, counters
            return
        last_ns, last = self._last
        delta = counter_deltas(last, counters)
        if delta is None:
            self._last = t_ns, counters
        elif t_ns > last_ns:
            self._append(last_ns, t_ns, delta)
            self._last = t_ns, counters

    def _append(self, start_ns: int, t_ns: int, delta: NDArray[np.int64]) -> None:
        row = self._rows % len(self._t_ns)
        self._start_ns[row], self._t_ns[row], self._delta[row] = start_ns, t_ns, delta
        self._rows += 1
        totals = WindowTotals(t_ns - start_ns, *(int(d) for d in delta))
        self._rate[row] = 0.0, 0.0, totals.bytes_per_second, totals.disk_wait_share
        self._spread(0, totals.prefill_tokens_per_second, totals.prefill_ns)
        self._spread(1, totals.decode_tokens_per_second, totals.decode_ns)
        self._note_peak()

    def _note_peak(self) -> None:
        """The highest rate over the newest intervals that together last half a second, without a gap."""
        bytes_read, end_ns = 0, self._t_ns[(self._rows - 1) % len(self._t_ns)]
        begin_ns = end_ns
        for place in range(self._rows - 1, self._rows - 1 - len(self), -1):
            row = place % len(self._t_ns)
            if self._t_ns[row] != begin_ns:
                return
            bytes_read += int(self._delta[row, _COLUMN["bytes_read"]])
            begin_ns = self._start_ns[row]
            if end_ns - begin_ns >= _PEAK_SPAN_NS:
                rate = bytes_read * 1e9 / int(end_ns - begin_ns)
                self.peak_bytes_per_second = max(self.peak_bytes_per_second, rate)
                return

    def _spread(self, column: int, speed: float | None, phase_ns: int) -> None:
        """Draw a speed over the whole time its tokens took: a long unit ends many samples later."""
        if speed is None:
            return
        order = self._order()[::-1]
        begin_ns = self._t_ns[order[0]] - phase_ns
        started = np.searchsorted(-self._start_ns[order], -begin_ns, side="right")
        rows = order[: max(1, int(started))]
        is_unset = self._rate[rows, column] == 0.0
        self._rate[rows[is_unset], column] = speed

    def _order(self) -> NDArray[np.int64]:
        """Ring rows, oldest first."""
        rows = len(self)
        return np.arange(self._rows - rows, self._rows, dtype=np.int64) % len(self._t_ns)

    def series(self, span_seconds: float) -> RateSeries:
        """Rates of the last `span_seconds` before the newest sample."""
        order = self._order()
        if len(order):
            begin_ns = self._t_ns[order[-1]] - int(span_seconds * 1e9)
            order = order[int(np.searchsorted(self._t_ns[order], begin_ns)) :]
        rate = self._rate[order]
        return RateSeries(
            self._start_ns[order],
            self._t_ns[order],
            rate[:, 0],
            rate[:, 1],
            rate[:, 2],
            rate[:, 3],
            self._delta[order],
        )

    def window(self, span_seconds: float) -> WindowTotals | None:
        """Sums of the intervals that lie at least half in the last `span_seconds`, and of the newest one.

        Only intervals since the last idle time or load count; None if there is none.
        """
        if self._rows == self._window_begin:
            return None
        order = self._order()[-(self._rows - self._window_begin) :]
        begin_ns = self._t_ns[order[-1]] - int(span_seconds * 1e9)
        middle_ns = (self._start_ns[order] + self._t_ns[order]) // 2
        first = min(int(np.searchsorted(middle_ns, begin_ns)), len(order) - 1)
        rows = order[first:]
        span_ns = int(self._t_ns[rows[-1]] - self._start_ns[rows[0]])
        return WindowTotals(span_ns, *(int(d) for d in self._delta[rows].sum(axis=0)))
