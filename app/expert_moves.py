"""Which experts changed their place between two samples: loaded, promoted, demoted or evicted."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from engine.events import ExpertsSampled
from engine.placement.tier import Tier

MOVES_KEPT_NS = 2_000_000_000


class Move(IntEnum):
    """What happened to an expert between two samples. LOADED: from disk into pool or window."""

    NONE = 0
    LOADED = 1
    PROMOTED = 2
    DEMOTED = 3
    EVICTED = 4


MOVES = tuple(Move)[1:]


@dataclass(frozen=True, slots=True)
class MoveCounts:
    """Moves per layer between the sample before `t_ns` and that one, shape (MOVES, moe layers)."""

    t_ns: int
    counts: NDArray[np.int64]


class ExpertMoves:
    """The moves of the last two seconds; arrays are (moe layers, experts) and never changed in place.

    `kinds`: each expert's newest Move, `moved_ns`: the time of the sample that showed it. An expert that came
    and went between two samples left no trace here; the counters know it. One thread.
    """

    def __init__(self, sample: ExpertsSampled) -> None:
        self.kinds = np.zeros(sample.tiers.shape, np.uint8)
        self.moved_ns = np.zeros(sample.tiers.shape, np.int64)
        self.newest_ns = sample.t_ns
        self._recent: tuple[MoveCounts, ...] = ()
        self._layers = len(sample.moe_layers)

    def add(self, before: ExpertsSampled, now: ExpertsSampled) -> None:
        """Compare two samples of the same layers and experts."""
        self.newest_ns = now.t_ns
        self._recent = tuple(each for each in self._recent if now.t_ns - each.t_ns < MOVES_KEPT_NS)
        if not (before.tiers != now.tiers).any():
            return
        kinds = moves_between(before.tiers, now.tiers)
        has_moved = kinds != Move.NONE
        self.kinds = np.where(has_moved, kinds, self.kinds)
        self.moved_ns = np.where(has_moved, now.t_ns, self.moved_ns)
        counts = np.stack([(kinds == move).sum(axis=1, dtype=np.int64) for move in MOVES])
        self._recent = (*self._recent, MoveCounts(now.t_ns, counts))

    def counts(self) -> NDArray[np.int64]:
        """Moves of the last two seconds per layer, shape (MOVES, moe layers)."""
        empty = np.zeros((len(MOVES), self._layers), np.int64)
        return sum((each.counts for each in self._recent), start=empty)

    def freshness(self, levels: int) -> NDArray[np.uint8]:
        """How new each expert's last move is: `levels` for the newest sample, down to 0 after two seconds."""
        fresh = np.zeros(self.kinds.shape, np.uint8)
        oldest_ns = self.newest_ns - MOVES_KEPT_NS
        # comparisons: dividing the ages took ten times as long
        for level in range(levels):
            fresh += self.moved_ns > oldest_ns + MOVES_KEPT_NS * level // levels
        fresh[self.kinds == Move.NONE] = 0
        return fresh


def moves_between(before: NDArray[np.uint8], now: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The Move of each place of two samples of tiers; window and pool are one place here."""
    kinds = np.zeros(before.shape, np.uint8)
    was_hot, is_hot = before >= Tier.HOT, now >= Tier.HOT
    kinds[(before == Tier.DISK) & (now != Tier.DISK)] = Move.LOADED
    kinds[is_hot & ~was_hot] = Move.PROMOTED
    kinds[was_hot & ~is_hot] = Move.DEMOTED
    kinds[(before != Tier.DISK) & (now == Tier.DISK)] = Move.EVICTED
    return kinds
