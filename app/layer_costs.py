"""What each expert layer cost, since the load and lately, from cumulative samples."""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray

from app.expert_history import Phase
from engine.events import LayersSampled

TIMES = ("compute_ns", "disk_wait_ns", "transfer_wait_ns", "own_ns")
COSTS = (*TIMES, "misses")
RECENT_NS = 5_000_000_000

_ROWS = {Phase.PREFILL: slice(0, 1), Phase.DECODE: slice(1, 2), Phase.BOTH: slice(0, 2)}


class LayerCosts:
    """Samples of the last five seconds; arrays are never changed in place. One thread."""

    def __init__(self, sample: LayersSampled) -> None:
        self.layers = sample.moe_layers
        self._samples: tuple[tuple[int, NDArray[np.int64]], ...] = ((sample.t_ns, _values(sample)),)

    def follows(self, sample: LayersSampled) -> bool:
        """Whether `sample` goes on counting: the same layers, and no cost fell."""
        return sample.moe_layers == self.layers and bool((_values(sample) >= self._samples[-1][1]).all())

    def add(self, sample: LayersSampled) -> None:
        """Take a sample that follows. One from before the last five seconds stays as their beginning."""
        begin_ns = sample.t_ns - RECENT_NS
        old = [each for each in self._samples if each[0] <= begin_ns]
        recent = [each for each in self._samples if each[0] > begin_ns]
        self._samples = (*old[-1:], *recent, (sample.t_ns, _values(sample)))

    def snapshot(self) -> LayerCosts:
        """The costs as they are now; later samples don't reach them."""
        return copy.copy(self)

    @property
    def recent_span_ns(self) -> int:
        """The time that `totals(.., is_recent=True)` covers; 0 with one sample."""
        return self._samples[-1][0] - self._samples[0][0]

    def totals(self, phase: Phase, is_recent: bool) -> NDArray[np.int64]:
        """Nanoseconds and misses, shape (COSTS, moe layers)."""
        values = self._samples[-1][1]
        if is_recent:
            values = values - self._samples[0][1]
        costs: NDArray[np.int64] = values[:, _ROWS[phase]].sum(axis=1)
        return costs


def _values(sample: LayersSampled) -> NDArray[np.int64]:
    """Shape (COSTS, 2 phases, moe layers)."""
    return np.array([getattr(sample, name) for name in COSTS], np.int64).reshape(len(COSTS), 2, -1)
