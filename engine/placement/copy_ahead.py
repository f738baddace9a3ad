"""Which experts of the next layer to copy to its device while the layer in flight computes, and how many.

No more than the link carries in that time: then a wrong guess delays nothing. What it does cost is a slot,
and `SlotTable.prepare_stream` gives it one only of an expert that is needed later.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.placement.streaming import worth_streaming


def worth_copying(
    chance: NDArray[np.float64],
    is_waiting: NDArray[np.bool_],
    n_tokens: int,
    compute_ns: int | None,
    link_bytes_per_second: float | None,
    expert_bytes: int,
) -> NDArray[np.int64]:
    """Experts that the coming unit will likely use, likeliest first.

    `is_waiting`: those in RAM that the device lacks. `compute_ns`: what a layer of this pass computed for.
    None: not measured yet, so nothing is begun.
    """
    if compute_ns is None or link_bytes_per_second is None:
        return np.empty(0, np.int64)
    most = int(compute_ns / 1e9 * link_bytes_per_second / expert_bytes)
    return worth_streaming(chance, is_waiting, n_tokens, most)
