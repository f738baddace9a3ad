"""Which experts of the next layer to read while the layer in flight computes, and how many.

A drive that idles costs nothing, so a guess may be wrong: what has not begun to come when the layer says what
it really wants is withdrawn. What a guess does cost is the slot it takes: `SlotTable.prepare_stream` gives it
one only of an expert that is needed later.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_LEAST_LIKELY = 1 / 3  # of a unit's guesses: a drive that waits costs more than a read in vain
LEAST_LIKELY_OF_TOKEN = 0.4  # where it begins to pay on two cores: reading takes time from computing
_AHEAD = 1.25  # start a little more than can come in time: what is wanted soon is no loss


def use_probability(chance: NDArray[np.float64], n_tokens: int) -> NDArray[np.float64]:
    """Probability that a unit uses an expert that one token picks with `chance`: 1 - (1 - p)^n."""
    used: NDArray[np.float64] = 1 - (1 - np.minimum(chance, 1.0)) ** n_tokens
    return used


def worth_streaming(
    chance: NDArray[np.float64], is_absent: NDArray[np.bool_], n_tokens: int, most: int | None
) -> NDArray[np.int64]:
    """Absent experts of a layer that the coming unit will likely use, likeliest first, `most` at the most."""
    least = _LEAST_LIKELY if n_tokens > 1 else LEAST_LIKELY_OF_TOKEN
    candidates = np.flatnonzero(is_absent & (use_probability(chance, n_tokens) >= least))
    return candidates[np.argsort(-chance[candidates], kind="stable")][:most]


class StreamPace:
    """How many experts can come while a layer computes, from times measured; owned by the engine thread."""

    def __init__(self) -> None:
        self._left_ns: int | None = None
        self.compute_ns: int | None = None  # of the layer before, in this pass

    def begin_pass(self) -> None:
        """A unit starts; what the layers of another one took means little for it."""
        self._left_ns = self.compute_ns = None

    def reach_layer(self, now_ns: int) -> None:
        """A layer's router has chosen: the layer before has computed."""
        if self._left_ns is not None:
            self.compute_ns = now_ns - self._left_ns

    def leave_layer(self, now_ns: int) -> None:
        """The layer's experts are there and it goes on to compute."""
        self._left_ns = now_ns

    def most(self, bytes_read: int, busy_ns: int, expert_bytes: int) -> int | None:
        """Experts of `expert_bytes` to start now, as `bytes_read` came in `busy_ns`; None: not known yet."""
        if self.compute_ns is None or not busy_ns:
            return None
        return int(_AHEAD * self.compute_ns * bytes_read / busy_ns / expert_bytes) + 1
