"""How soon each expert will be needed again, as far as the past tells.

Belady's optimum evicts what is needed last. Nobody knows that, but its expectation can be estimated: an
expert that a token picks with probability p is picked again after 1/p - 1 tokens on average (geometric
distribution), plus the layers between here and there. Replayed on recorded runs (“simulate”), this hits
more than LRU, LFU or pools of the most used experts: it weighs how often against how lately in one measure.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Memory of about 2, 10, 50 and 500 tokens, averaged: bursts, the topic at hand, the model's habits.
_DECAYS = np.array([0.6, 0.9, 0.98, 0.998])
_LASTING = slice(2, 4)  # the memories that outlast the topic at hand
_PRIOR_SHARE = 0.3  # of uniform use: what an expert that was never seen is still worth


class UseEstimate:
    """`chance[row, expert]`: probability that a token picks the expert; owned by the engine thread."""

    def __init__(
        self, n_row: int, n_expert: int, top_k: int, known: NDArray[np.float64] | None = None
    ) -> None:
        """`known`: what `lasting` gave in an earlier session, shape (rows, experts)."""
        self._prior = _PRIOR_SHARE * top_k / n_expert
        self._seen = np.zeros((len(_DECAYS), n_row, n_expert))
        self._tokens = [0] * n_row
        self.is_known = known is not None
        if known is not None:
            self._seen[:] = known
        self.chance = self._seen.mean(axis=0) + self._prior

    def observe(self, row: int, experts: NDArray[np.int64], picks: NDArray[np.int64], n_tokens: int) -> None:
        """In a unit of `n_tokens` the layer used these distinct experts, each for `picks` tokens."""
        kept = _DECAYS**n_tokens
        self._tokens[row] += n_tokens
        seen = self._seen[:, row]
        seen *= kept[:, None]
        seen[:, experts] += (1 - kept)[:, None] * (picks / n_tokens)
        self.chance[row] = seen.mean(axis=0) + self._prior

    def lasting(self) -> NDArray[np.float64]:
        """Chances worth keeping for another session, (rows, experts); 0 in rows that were never seen.

        Of the long memories only, without the prior, and as if they had always been full.
        """
        tokens = np.array(self._tokens)
        full = np.ones((2, len(tokens))) if self.is_known else 1 - _DECAYS[_LASTING, None] ** tokens
        shares = self._seen[_LASTING] / np.maximum(full, 1e-12)[:, :, None]
        chance: NDArray[np.float64] = np.minimum(shares.mean(axis=0), 1.0)
        return chance

    def expected_wait(
        self, owners: NDArray[np.int64], current_row: int, n_tokens: int
    ) -> NDArray[np.float64]:
        """Expected time until each of `owners` (row * experts + expert) is needed, in passes of `n_tokens`.

        The layer in flight is `current_row`, so its experts' next chance is a whole pass away.
        """
        n_row, n_expert = self.chance.shape
        chance: NDArray[np.float64] = np.minimum(self.chance.ravel()[owners], 1.0)
        if n_tokens > 1:
            chance = 1 - (1 - chance) ** n_tokens
        distance = (owners // n_expert - current_row) % n_row
        distance[distance == 0] = n_row
        wait: NDArray[np.float64] = distance / n_row + 1 / np.maximum(chance, 1e-9) - 1
        return wait
