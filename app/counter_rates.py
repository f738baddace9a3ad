"""Rates from cumulative counters: one row per sampling interval in a bounded ring."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.rate_series import RATE_COLUMN, RATES, RateSeries
from app.window_totals import FIELDS, WindowTotals, counter_values
from engine.events import Counters

# bytes are counted when a read ends, so a shorter time makes an absurd peak out of a few finished reads
_PEAK_SPAN_NS = 500_000_000


class CounterRates:
    """Ring of intervals between counter samples; one thread. Lost samples only make intervals longer.

    `peak_bytes_per_second` and `peak_link_bytes_per_second`: the highest rates of the drive and of the links
    to devices over half a second.
    """

    def __init__(self, capacity: int = 12_000) -> None:
        self._start_ns = np.zeros(capacity, np.int64)
        self._t_ns = np.zeros(capacity, np.int64)
        self._delta = np.zeros((capacity, len(FIELDS)), np.int64)
        self._rate = np.zeros((capacity, len(RATES)), np.float64)
        self._rows = 0
        self._last: tuple[int, NDArray[np.int64]] | None = None
        self._window_begin = 0  # rows before this count belong to earlier work
        self._untold_row = 0  # the first row since the last token
        self.peak_bytes_per_second = 0.0
        self.peak_link_bytes_per_second = 0.0

    def __len__(self) -> int:
        return min(self._rows, len(self._t_ns))

    def restart(self) -> None:
        """Counting begins anew (another model): the next sample is a new zero line."""
        self._last = None
        self._window_begin = self._untold_row = self._rows

    def mark_idle_until(self, t_ns: int) -> None:
        """Nothing ran since the last sample: close the gap with zeros and begin the window anew.

        Otherwise the idle time would dilute the next rate and every share of the last seconds.
        """
        if self._last is None or t_ns <= self._last[0]:
            return
        last_ns, values = self._last
        self._append(last_ns, t_ns, np.zeros(len(FIELDS), np.int64))
        self._rate[(self._rows - 1) % len(self._t_ns), RATE_COLUMN["compute_share"]] = 0.0
        self._last = t_ns, values
        self._window_begin = self._untold_row = self._rows

    def add(self, t_ns: int, counters: Counters) -> None:
        """Take a sample; without time passed it is left to the next one, which covers both."""
        values = counter_values(counters)
        if self._last is None:
            self._last = t_ns, values
            return
        last_ns, last = self._last
        delta = values - last
        if (delta < 0).any():  # a counter fell: counting began anew
            self._last = t_ns, values
        elif t_ns > last_ns:
            self._append(last_ns, t_ns, delta)
            self._last = t_ns, values

    def _append(self, start_ns: int, t_ns: int, delta: NDArray[np.int64]) -> None:
        row = self._rows % len(self._t_ns)
        self._start_ns[row], self._t_ns[row], self._delta[row] = start_ns, t_ns, delta
        self._rows += 1
        totals = WindowTotals(t_ns - start_ns, *delta.tolist())
        # speeds and bytes per token are spread below: they are known when a unit ends
        self._rate[row] = (
            0.0,
            0.0,
            totals.bytes_per_second,
            totals.disk_wait_share,
            totals.transfer_wait_share,
            totals.compute_share,
            totals.link_bytes_per_second,
            0.0,
        )
        self._spread(0, totals.prefill_tokens_per_second, totals.prefill_ns)
        self._spread(1, totals.decode_tokens_per_second, totals.decode_ns)
        self._spread_bytes_per_token(totals.prefill_tokens + totals.decode_tokens)
        self.peak_bytes_per_second = max(self.peak_bytes_per_second, self._newest_rate("bytes_read"))
        self.peak_link_bytes_per_second = max(
            self.peak_link_bytes_per_second, self._newest_rate("link_bytes")
        )

    def _newest_rate(self, field: str) -> float:
        """Per second over the newest intervals that last half a second without a gap; 0 if none do."""
        column = FIELDS.index(field)
        amount, end_ns = 0, self._t_ns[(self._rows - 1) % len(self._t_ns)]
        begin_ns = end_ns
        for place in range(self._rows - 1, self._rows - 1 - len(self), -1):
            row = place % len(self._t_ns)
            if self._t_ns[row] != begin_ns:
                break
            amount += int(self._delta[row, column])
            begin_ns = self._start_ns[row]
            if end_ns - begin_ns >= _PEAK_SPAN_NS:
                return amount * 1e9 / int(end_ns - begin_ns)
        return 0.0

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

    def _spread_bytes_per_token(self, tokens: int) -> None:
        """What was read since the last token, divided by the tokens that came of it, over that time."""
        if not tokens:
            return
        rows = self._order()[-min(self._rows - self._untold_row, len(self)) :]
        bytes_read = int(self._delta[rows, FIELDS.index("bytes_read")].sum())
        self._rate[rows, RATE_COLUMN["bytes_per_token"]] = bytes_read / tokens
        self._untold_row = self._rows

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
        return RateSeries(self._start_ns[order], self._t_ns[order], self._rate[order], self._delta[order])

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
