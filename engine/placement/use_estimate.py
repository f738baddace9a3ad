"""How soon each expert will be needed again, as far as the past tells.

Belady's optimum evicts what is needed last. Nobody knows that, but its expectation can be estimated: an
expert that a token picks with probability p is picked again after 1/p - 1 tokens on average (geometric
distribution), plus the layers between here and there. Replayed on recorded runs (“simulate”), this hits
more than LRU, LFU or pools of the most used experts: it weighs how often against how lately in one measure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Memory of about 2, 10, 50 and 500 tokens, averaged: bursts, the topic at hand, the model's habits.
_DECAYS = np.array([0.6, 0.9, 0.98, 0.998])
_LASTING = slice(2, 4)  # the memories that outlast the topic at hand
_PRIOR_TOKENS = 16  # so many tokens outweigh the prior where a guess costs a read
_PRIOR_SHARE = 0.3  # of uniform use: what an expert that was never seen is still worth


@dataclass(frozen=True, slots=True, eq=False)
class KnownUse:
    """What is kept between sessions: chances, shape (rows, experts), and how many tokens each row saw."""

    chance: NDArray[np.float64]
    tokens: NDArray[np.int64]


class UseEstimate:
    """`chance[row, expert]`: probability that a token picks the expert; owned by the engine thread."""

    def __init__(self, n_row: int, n_expert: int, top_k: int, known: KnownUse | None = None) -> None:
        """`known`: what `lasting` gave in an earlier session; its tokens say how full the memories are."""
        self._prior = _PRIOR_SHARE * top_k / n_expert
        self._seen = np.zeros((len(_DECAYS), n_row, n_expert))
        self._tokens = np.zeros(n_row, np.int64)
        if known is not None:
            self._tokens += known.tokens
            self._seen[:] = known.chance * _fullness(_DECAYS, self._tokens)
        self.chance = self._seen.mean(axis=0) + self._prior

    def observe(self, row: int, experts: NDArray[np.int64], picks: NDArray[np.int64], n_tokens: int) -> None:
        """In a unit of `n_tokens` the layer used these distinct experts, each for `picks` tokens."""
        kept = _DECAYS**n_tokens
        self._tokens[row] += n_tokens
        seen = self._seen[:, row]
        seen *= kept[:, None]
        seen[:, experts] += (1 - kept)[:, None] * (picks / n_tokens)
        self.chance[row] = seen.mean(axis=0) + self._prior

    def likely(self, row: int) -> NDArray[np.float64]:
        """Chances of one row's experts where the prior fades as tokens are seen, shape (experts,).

        `chance` keeps it: evicting by it, an expert that was never seen must not look worthless for good.
        """
        faded = self._tokens[row] / (self._tokens[row] + _PRIOR_TOKENS)
        likely: NDArray[np.float64] = self.chance[row] - self._prior * faded
        return likely

    def lasting(self) -> KnownUse:
        """What is worth keeping for another session: the long memories, as if they had always been full.

        Chances of 0 in rows that were never seen.
        """
        fullness = np.maximum(_fullness(_DECAYS[_LASTING], self._tokens), 1e-12)
        chance = np.minimum((self._seen[_LASTING] / fullness).mean(axis=0), 1.0)
        return KnownUse(chance, self._tokens.copy())

    def expected_wait(
        self,
        owners: NDArray[np.int64],
        current_row: int,
        n_tokens: int,
        chance: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Expected time until each of `owners` (row * experts + expert) is needed, in passes of `n_tokens`.

        The layer in flight is `current_row`, so its experts' next chance is a whole pass away. `chance`:
        that a token picks each of them, where more is known than their past.
        """
        n_row, n_expert = self.chance.shape
        chance = np.minimum(self.chance.ravel()[owners] if chance is None else chance, 1.0)
        if n_tokens > 1:
            chance = 1 - (1 - chance) ** n_tokens
        distance = (owners // n_expert - current_row) % n_row
        distance[distance == 0] = n_row
        wait: NDArray[np.float64] = distance / n_row + 1 / np.maximum(chance, 1e-9) - 1
        return wait


def _fullness(decays: NDArray[np.float64], tokens: NDArray[np.int64]) -> NDArray[np.float64]:
    """How far memories have filled after so many tokens, 0 to 1, shape (memories, rows, 1)."""
    return (1 - decays[:, None] ** tokens)[:, :, None]
