"""What each layer of a simulated model cost: the same arithmetic as its counters, shared out among layers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.events import LayersSampled

Numbers = NDArray[np.int64]


class FakeLayers:
    """Cumulative, shape (2, layers) each: prefill, decode. Owned by the backend's thread."""

    def __init__(self, n_layer: int) -> None:
        self._disk_wait_ns = np.zeros((2, n_layer), np.int64)
        self._compute_ns = np.zeros((2, n_layer), np.int64)
        self._misses = np.zeros((2, n_layer), np.int64)

    def add(
        self, is_prefill: bool, misses: Sequence[int], reads: Sequence[int], wait_ns: int, compute_ns: int
    ) -> None:
        """One unit: waits go to the layers in proportion to their `reads`, computation to all alike."""
        phase = 0 if is_prefill else 1
        self._misses[phase] += misses
        self._disk_wait_ns[phase] += _shared(wait_ns, np.array(reads))
        self._compute_ns[phase] += _shared(compute_ns, np.ones(len(reads)))

    def sample(self) -> LayersSampled:
        """The state as a value; nothing is copied to a device, and no work of ours is simulated."""
        n_layer = self._misses.shape[1]
        nothing = ((0,) * n_layer, (0,) * n_layer)
        return LayersSampled(
            moe_layers=tuple(range(n_layer)),
            disk_wait_ns=_phases(self._disk_wait_ns),
            transfer_wait_ns=nothing,
            own_ns=nothing,
            compute_ns=_phases(self._compute_ns),
            misses=_phases(self._misses),
        )


def _shared(total: int, weights: NDArray[np.float64]) -> Numbers:
    """Whole numbers in proportion to `weights` that add up to `total`; all to the first without weights."""
    if not weights.any():
        weights = np.arange(len(weights)) == 0
    ends: Numbers = np.rint(total * (np.cumsum(weights) / weights.sum())).astype(np.int64)
    return np.diff(ends, prepend=np.int64(0))


def _phases(values: Numbers) -> tuple[tuple[int, ...], tuple[int, ...]]:
    prefill, decode = values.tolist()
    return tuple(prefill), tuple(decode)
