"""Which experts of the next layer to fetch while the layer in flight computes.

Reading an expert that is then not used wastes bytes, so streaming needs a reason to expect near-certain use.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LEAST_CERTAINTY = 0.95


def expected_share(n_expert: int, top_k: int, n_tokens: int) -> float:
    """Share of a layer's experts that n tokens touch if routing is uniform: 1 - (1 - k/E)^n.

    Real text is more skewed than uniform, so this is the optimistic case; `UseForecast` corrects it.
    """
    return 1.0 - (1.0 - min(1.0, top_k / n_expert)) ** n_tokens


class UseForecast:
    """Predicts a layer's experts for the coming unit from the last one; owned by the engine thread.

    `precision` is measured: the share of predicted experts that were then used (moving average, first
    value taken as it is). 0 until something was measured.
    """

    def __init__(self, n_layer: int, n_expert: int, top_k: int) -> None:
        self.precision = 0.0
        self._has_measured = False
        self._n_expert, self._top_k = n_expert, top_k
        self._last: list[NDArray[np.int64] | None] = [None] * n_layer
        self._all = np.arange(n_expert)
        self._all_precision = 1.0

    def predict(self, layer_index: int, n_tokens: int) -> NDArray[np.int64]:
        """Expert ids worth streaming for `layer_index`, possibly none."""
        share = expected_share(self._n_expert, self._top_k, n_tokens)
        if min(share, self._all_precision) >= LEAST_CERTAINTY:
            return self._all
        last = self._last[layer_index]
        if last is not None and self.precision >= LEAST_CERTAINTY:
            return last
        return self._all[:0]

    def observe(self, layer_index: int, used: NDArray[np.int64], n_tokens: int) -> None:
        """Tell which experts the layer really used in a unit of `n_tokens`."""
        if n_tokens < 2:
            return
        last = self._last[layer_index]
        if last is not None and len(last):
            hits = np.isin(last, used, assume_unique=True).mean()
            self.precision = (
                float(hits) if not self._has_measured else 0.8 * self.precision + 0.2 * float(hits)
            )
            self._has_measured = True
        if expected_share(self._n_expert, self._top_k, n_tokens) >= LEAST_CERTAINTY:
            # quick to give up: the first layers of a cold prompt decide about all the others
            self._all_precision = 0.5 * (self._all_precision + len(used) / self._n_expert)
        self._last[layer_index] = used
