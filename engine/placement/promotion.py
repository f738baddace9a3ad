"""When pools are chosen anew, and by which heat: the experts used most in about the last fifty tokens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DECAY_PER_TOKEN = 0.98
_DECODE_PASSES_PER_PROMOTION = 8


def faded(heat: NDArray[np.float64], n_tokens: int) -> NDArray[np.float64]:
    """Heat after `n_tokens` more; their own picks are added by the caller, one each."""
    return heat * DECAY_PER_TOKEN**n_tokens


class PromotionClock:
    """Promotion after every prefill unit, and after every eighth token of an answer."""

    def __init__(self) -> None:
        self._decode_passes = 0

    def is_due(self, is_prefill: bool) -> bool:
        """Call once at the end of each pass."""
        self._decode_passes = 0 if is_prefill else self._decode_passes + 1
        return is_prefill or self._decode_passes % _DECODE_PASSES_PER_PROMOTION == 0
