"""Which experts of each layer belong into the hot zone: the ones used most, changed only where it pays.

A decision about values; `SlotTable.promote` turns it into moves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DEFAULT_HOT = 5  # experts per layer
# A newcomer must be worth so much more than the hot expert it replaces: moving bytes costs time, and
# estimates of nearly equal experts change places all the time.
_HYSTERESIS = 1.25
Mask = NDArray[np.bool_]


def choose_hot(weight: NDArray[np.float64], may_be_hot: Mask, is_hot: Mask, hot_per_layer: int) -> Mask:
    """The experts of each row that should be hot from now on, at most `hot_per_layer`.

    All arrays have the shape (rows, experts); `weight`: how often an expert is used, in any unit; experts of
    weight 0 never become hot.
    """
    key = np.where(is_hot, weight * _HYSTERESIS, weight)
    key = np.where(may_be_hot, key, 0.0)
    count = min(hot_per_layer, key.shape[1])
    chosen = np.zeros(key.shape, np.bool_)
    if count:
        best = np.argpartition(-key, count - 1, axis=1)[:, :count]
        np.put_along_axis(chosen, best, True, axis=1)
    hot: Mask = chosen & (key > 0)
    return hot
