"""What each expert layer cost: waits, own work, computation, misses. Owned by the engine thread."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
PASS_END = -1  # in place of a layer


class LayerTimes:
    """Cumulative; every array has the shape (2, layers): prefill, decode.

    A visit is one stop of the graph at a layer's routing. The layer computes from there to the next visit, or
    to the end of the pass.
    """

    def __init__(self, n_layer: int) -> None:
        self.disk_wait_ns = np.zeros((2, n_layer), np.int64)
        self.transfer_wait_ns = np.zeros((2, n_layer), np.int64)
        self.own_ns = np.zeros((2, n_layer), np.int64)
        self.compute_ns = np.zeros((2, n_layer), np.int64)
        self.misses = np.zeros((2, n_layer), np.int64)

    def waited(self, phase: int, layer_index: int, disk_wait_ns: int) -> None:
        """So much of a visit was spent waiting for reads; `phase` 0 prefill, 1 decode."""
        self.disk_wait_ns[phase, layer_index] += disk_wait_ns
        self.own_ns[phase, layer_index] -= disk_wait_ns

    def transferred(self, phase: int, layer_index: int, wait_ns: int) -> None:
        """So much of a visit was spent waiting for copies to a device."""
        self.transfer_wait_ns[phase, layer_index] += wait_ns
        self.own_ns[phase, layer_index] -= wait_ns

    def visited(self, phase: int, layers: Numbers, started_ns: Numbers, ended_ns: Numbers) -> None:
        """Visits in their order, PASS_END where a pass ended; what the last layer computes is still open."""
        is_visit = layers != PASS_END
        np.add.at(self.own_ns[phase], layers[is_visit], (ended_ns - started_ns)[is_visit])
        is_visit, gaps_ns = is_visit[:-1], started_ns[1:] - ended_ns[:-1]
        np.add.at(self.compute_ns[phase], layers[:-1][is_visit], gaps_ns[is_visit])
