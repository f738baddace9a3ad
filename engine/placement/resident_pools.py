"""Which experts may be used beside rank 0: the members of each layer's pool, elected between passes.

An election depends on the routing alone (who was wanted, who was rank 0), never on what happens to be in
memory, so the same history gives the same pools at any slot count, unit size and thread count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.placement.promotion import DECAY_PER_TOKEN
from engine.placement.routing_policy import Ids

_HYSTERESIS = 1.25  # who isn't a member must be wanted so many times more often than the member it replaces


@dataclass(frozen=True, slots=True)
class PoolShape:
    """Per layer: how many experts it has and how many of them are members."""

    n_expert: int
    members: int


class ResidentPools:
    """Members of the pools of all expert layers; owned by the engine thread.

    `members`: bool (layers, experts). Heat counts how often the router wanted an expert at any rank; it fades
    once per pass, by whole counts, so that cutting a pass into units changes nothing.
    """

    def __init__(
        self,
        shapes: list[PoolShape],
        heat: NDArray[np.float64] | None = None,
        is_fixed: bool = False,
    ) -> None:
        """`heat` from an earlier session, shape (layers, experts), elects the first members."""
        width = max(shape.n_expert for shape in shapes)
        self._shapes = shapes
        self.is_fixed = is_fixed
        self.heat = np.zeros((len(shapes), width)) if heat is None else heat.astype(np.float64)
        self.members = np.zeros((len(shapes), width), np.bool_)
        self._wanted = np.zeros((len(shapes), width), np.int64)
        self._was_first = np.zeros((len(shapes), width), np.bool_)
        self._tokens = 0
        for layer, shape in enumerate(shapes):
            self.members[layer, self._best(layer, np.arange(shape.n_expert))] = True

    def observe(self, layer: int, wanted: Ids) -> None:
        """The router wanted these in the pass in progress; shape (tokens, top_k), rank 0 first."""
        self._wanted[layer] += np.bincount(wanted.ravel(), minlength=self._wanted.shape[1])
        self._was_first[layer, wanted[:, 0]] = True

    def count_tokens(self, n_tokens: int) -> None:
        """The pass in progress has that many tokens more."""
        self._tokens += n_tokens

    def elect(self, from_all: bool = False) -> bool:
        """Between passes: members are the most wanted of those who were members or rank 0 meanwhile.

        Others would have to be read though nobody used them; `from_all` (warm-up) lets them in too, and
        without their being clearly hotter than those whom they replace.
        Returns whether any pool changed.
        """
        self._fold()
        if self.is_fixed and not from_all:
            self._was_first[:] = False
            return False
        before = self.members.copy()
        for layer, shape in enumerate(self._shapes):
            may_join = before[layer] | self._was_first[layer] | from_all
            candidates = np.flatnonzero(may_join[: shape.n_expert])
            elected = self._best(layer, candidates, 1 if from_all else _HYSTERESIS)
            self.members[layer] = False
            self.members[layer, elected] = True
        self._was_first[:] = False
        return not np.array_equal(before, self.members)

    def learned(self) -> NDArray[np.float64]:
        """Heat with what the pass in progress has added."""
        return self.heat * DECAY_PER_TOKEN**self._tokens + self._wanted

    def _fold(self) -> None:
        self.heat = self.learned()
        self._wanted[:] = 0
        self._tokens = 0

    def _best(self, layer: int, candidates: NDArray[np.int64], head_start: float = 1) -> NDArray[np.int64]:
        """The hottest, if members' heat counts `head_start` times; then members, then the lower numbers."""
        is_member = self.members[layer, candidates]
        heat = self.heat[layer, candidates] * np.where(is_member, head_start, 1)
        order = np.lexsort((candidates, ~is_member, -heat))
        return candidates[order[: self._shapes[layer].members]]
