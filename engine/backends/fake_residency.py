"""Which experts a simulated model picks, and which of them are in memory."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.events import ExpertsSampled
from engine.placement.hot_zone import choose_hot
from engine.placement.tier import Tier

Number = TypeVar("Number", np.int64, np.uint8)

DISK, WINDOW, POOL = Tier.DISK, Tier.HOST_WINDOW, Tier.HOST_POOL


@dataclass(frozen=True, slots=True)
class UnitOutcome:
    """What one unit asked of memory, counted as in `Counters`: distinct experts per layer.

    `missed` and `read` (missed or streamed) have one number per layer, `requests_by_tier` one per Tier.
    """

    requests_by_tier: tuple[int, ...] = (0,) * len(Tier)
    missed: tuple[int, ...] = ()
    read: tuple[int, ...] = ()
    evictions: int = 0

    @property
    def requests(self) -> int:
        return sum(self.requests_by_tier)

    @property
    def misses(self) -> int:
        return sum(self.missed)

    @property
    def streamed(self) -> int:
        return sum(self.read) - self.misses


class FakeResidency:
    """Routes by a Zipf law with a favourite order of experts per layer; a pool per layer and a shared window.

    A missing expert takes a free place in its layer's pool, or the place of a resident that was used
    less and isn't hot, or else the oldest place in the window. Owned by the backend's thread.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        top_k: int,
        pool_per_layer: int,
        window_slots: int,
        skew: tuple[float, int],
        hot_per_layer: int = 0,
    ) -> None:
        """`shape` is (layers, experts); `skew` is (Zipf exponent, seed)."""
        exponent, seed = skew
        self._rng = np.random.default_rng(seed)
        self._top_k, self._pool_per_layer = top_k, pool_per_layer
        self._window: deque[tuple[int, int]] = deque()
        self._window_slots = window_slots
        weights = -exponent * np.log(np.arange(1, shape[1] + 1))
        self._log_popularity = np.stack([self._rng.permutation(weights) for _ in range(shape[0])])
        self._prefill_uses = np.zeros(shape, np.int64)
        self._decode_uses = np.zeros(shape, np.int64)
        self._tiers = np.zeros(shape, np.uint8)
        self._hot_per_layer, self._is_hot = hot_per_layer, np.zeros(shape, np.bool_)
        self._last_use = np.zeros(shape, np.int64)
        self._pass = 0

    def adjust(self, pool_per_layer: int, window_slots: int, hot_per_layer: int) -> None:
        """Other sizes; who leaves a smaller pool goes to the window, and the oldest there to the disk."""
        self._pool_per_layer, self._window_slots = pool_per_layer, window_slots
        self._hot_per_layer = hot_per_layer
        uses = self._prefill_uses + self._decode_uses
        for layer, tiers in enumerate(self._tiers):
            members = np.flatnonzero(tiers == POOL)
            surplus = members[np.argsort(uses[layer, members], kind="stable")][: -pool_per_layer or None]
            tiers[surplus] = WINDOW
            self._window.extend((layer, int(expert)) for expert in surplus)
        while len(self._window) > window_slots:
            self._tiers[self._window.popleft()] = DISK
        self._promote()

    def run_unit(self, n_tokens: int, is_prefill: bool) -> UnitOutcome:
        """Route `n_tokens` through all layers and bring in what is missing.

        In prefill the first layer misses; the others' experts are streamed while the layer before computes.
        """
        self._pass += 1
        uses = self._prefill_uses if is_prefill else self._decode_uses
        asked, missed, read, evictions = np.zeros(len(Tier), np.int64), list[int](), list[int](), 0
        for layer, experts in enumerate(self._picks(n_tokens)):
            np.add.at(uses[layer], experts, 1)
            needed = np.unique(experts)
            self._last_use[layer, needed] = self._pass
            tiers = self._shown_tiers()[layer, needed]
            asked += np.bincount(tiers, minlength=len(Tier))
            missing = needed[tiers == DISK]
            evictions += sum(self._bring_in(layer, int(expert)) for expert in missing)
            read.append(len(missing))
            missed.append(0 if is_prefill and layer > 0 else len(missing))
        self._promote()
        return UnitOutcome(tuple(asked.tolist()), tuple(missed), tuple(read), evictions)

    def favourites_missing(self) -> list[NDArray[np.intp]]:
        """Per layer, the most popular experts that its pool has room for and that are not in memory."""
        return [best[self._tiers[layer, best] == DISK] for layer, best in enumerate(self._favourites())]

    def bring_favourites(self, layer: int) -> None:
        """They are the layer's pool now; whoever else was in it is back on disk."""
        tiers = self._tiers[layer]
        tiers[tiers == POOL] = DISK
        best = self._favourites()[layer]
        self._window = deque(each for each in self._window if each[0] != layer or each[1] not in best)
        tiers[best] = POOL
        self._is_hot[layer] &= tiers == POOL

    def expected_hit_rate(self) -> float:
        """Share of the popularity that is in memory, 0 to 1."""
        popularity = np.exp(self._log_popularity)
        return float(((popularity * (self._tiers != DISK)).sum(axis=1) / popularity.sum(axis=1)).mean())

    def _favourites(self) -> NDArray[np.intp]:
        return np.argsort(-self._log_popularity, axis=1)[:, : self._pool_per_layer]

    def sample(self) -> ExpertsSampled:
        """Copies of the state, read-only."""
        return ExpertsSampled(
            moe_layers=tuple(range(len(self._tiers))),
            prefill_uses=_frozen(self._prefill_uses),
            decode_uses=_frozen(self._decode_uses),
            tiers=_frozen(self._shown_tiers()),
            last_use_pass=_frozen(self._last_use),
        )

    def _promote(self) -> None:
        """At the end of a pass, the most used experts of each pool are the hot ones."""
        uses = (self._prefill_uses + self._decode_uses).astype(np.float64)
        self._is_hot = choose_hot(uses, self._tiers == POOL, self._is_hot, self._hot_per_layer)

    def _shown_tiers(self) -> NDArray[np.uint8]:
        """What is hot is a label on members of the pool."""
        tiers = self._tiers.copy()
        tiers[self._is_hot & (tiers == POOL)] = Tier.HOT
        return tiers

    def _picks(self, n_tokens: int) -> NDArray[np.intp]:
        """Expert ids, shape (layers, tokens * top_k): top-k of popularity plus Gumbel noise."""
        layers, experts = self._log_popularity.shape
        noise = self._rng.gumbel(size=(layers, n_tokens, experts))
        scores = self._log_popularity[:, None, :] + noise
        return np.argpartition(-scores, self._top_k - 1, axis=2)[:, :, : self._top_k].reshape(layers, -1)

    def _bring_in(self, layer: int, expert: int) -> int:
        """Give a missing expert a place; returns how many experts lost theirs (0 or 1)."""
        residents = np.flatnonzero(self._tiers[layer] == POOL)
        if len(residents) < self._pool_per_layer:
            self._tiers[layer, expert] = POOL
            return 0
        residents = residents[~self._is_hot[layer, residents]]
        if not len(residents):
            return self._bring_into_window(layer, expert)
        uses = self._prefill_uses[layer] + self._decode_uses[layer]
        victim = residents[np.argmin(uses[residents])]
        if uses[victim] < uses[expert]:
            self._tiers[layer, victim], self._tiers[layer, expert] = DISK, POOL
            return 1
        return self._bring_into_window(layer, expert)

    def _bring_into_window(self, layer: int, expert: int) -> int:
        evicted = 0
        if len(self._window) == self._window_slots:
            self._tiers[self._window.popleft()] = DISK
            evicted = 1
        self._window.append((layer, expert))
        self._tiers[layer, expert] = WINDOW
        return evicted


def _frozen(array: NDArray[Number]) -> NDArray[Number]:
    copy = array.copy()
    copy.setflags(write=False)
    return copy
