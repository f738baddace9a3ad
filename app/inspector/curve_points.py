"""Points of the curves over time: never more than the screen can tell apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.rate_series import RateSeries


@dataclass(frozen=True, slots=True)
class CurvePoints:
    """Two points for each interval or group of intervals; `joined` says which to connect to the next.

    `group_starts`: index of each group's first interval.
    """

    seconds: NDArray[np.float64]
    joined: NDArray[np.int32]
    group_starts: NDArray[np.int64]
    intervals: int

    def heights(self, rates: NDArray[np.float64]) -> NDArray[np.float64]:
        """A rate as a step over its interval; of a group the highest and the lowest: no peak is lost."""
        if len(self.group_starts) == self.intervals:
            return np.repeat(rates, 2)
        highest = np.maximum.reduceat(rates, self.group_starts)
        lowest = np.minimum.reduceat(rates, self.group_starts)
        return np.column_stack((highest, lowest)).ravel()


def curve_points(series: RateSeries, newest_ns: int, most_groups: int) -> CurvePoints:
    """Start and end of each interval in seconds before `newest_ns`, in about `most_groups` groups at most.

    A rate holds over its whole interval, so it is a step, not a ramp; nothing is drawn where nothing was
    sampled (while a model loads), and no group reaches over such a gap.
    """
    intervals = len(series.t_ns)
    size = max(1, -(-intervals // max(1, most_groups)))
    begins_group = np.arange(intervals) % size == 0
    begins_group[1:] |= series.start_ns[1:] != series.t_ns[:-1]
    starts = np.flatnonzero(begins_group)
    lasts = np.append(starts[1:], intervals)[: len(starts)] - 1
    edges_ns = np.column_stack((series.start_ns[starts], series.t_ns[lasts])).ravel()
    joined = np.ones(len(edges_ns), np.int32)
    joined[1:-1:2] = edges_ns[1:-1:2] == edges_ns[2::2]
    return CurvePoints((edges_ns - newest_ns) / 1e9, joined, starts, intervals)
