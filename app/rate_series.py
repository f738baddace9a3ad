"""Rates over time as arrays, and the sums over a part of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.window_totals import WindowTotals

RATES = (
    "prefill_tokens_per_second",
    "decode_tokens_per_second",
    "bytes_per_second",
    "disk_wait_share",
    "transfer_wait_share",
    "compute_share",
    "link_bytes_per_second",
    "bytes_per_token",
)
RATE_COLUMN = {name: i for i, name in enumerate(RATES)}


@dataclass(frozen=True, slots=True)
class RateSeries:
    """Equal-length arrays, oldest first; a rate holds from `start_ns` to `t_ns` of its interval.

    `rates`: float64, shape (intervals, RATES). `deltas`: what the counters grew by in each interval,
    int64, shape (intervals, FIELDS).
    """

    start_ns: NDArray[np.int64]
    t_ns: NDArray[np.int64]
    rates: NDArray[np.float64]
    deltas: NDArray[np.int64]

    def rate(self, name: str) -> NDArray[np.float64]:
        """One of RATES over the intervals."""
        column: NDArray[np.float64] = self.rates[:, RATE_COLUMN[name]]
        return column

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
        return RateSeries(self.start_ns[rows], self.t_ns[rows], self.rates[rows], self.deltas[rows])
