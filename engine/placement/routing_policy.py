"""Which experts a token uses: pure functions of the router's ranking and the resident pool.

*Exact*: the router's first k. *Resident*: rank 0 from all experts, ranks 1 and up only from the pool. Both
look at nothing else: not at tiers, not at a token's place in its unit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import Counters

Ids = NDArray[np.int32]


def choose_resident(ranking: Ids, top_k: int, members: NDArray[np.bool_]) -> Ids:
    """The experts each token uses, best first, shape (tokens, top_k).

    `ranking`: all experts by falling score, shape (tokens, experts); `members`: shape (experts,), at least
    `top_k` of them true.
    """
    if not len(ranking):
        return ranking[:, :top_k].copy()
    may_use = members[ranking]
    may_use[:, 0] = True
    is_chosen = may_use & (np.cumsum(may_use, axis=1) <= top_k)
    return ranking[is_chosen].reshape(len(ranking), top_k)


@dataclass(frozen=True, slots=True)
class RoutingCost:
    """What a policy changed, summed over tokens: the figures of the fidelity meter.

    A rank is replaced if the expert used is none of those the router wanted. Gate mass: the sum of the
    router's probabilities, of the wanted experts and of the used ones.
    """

    ranks: int = 0
    replaced: int = 0
    gate_mass_wanted: float = 0.0
    gate_mass_used: float = 0.0

    @classmethod
    def of(cls, counters: Counters) -> RoutingCost:
        """What the engine has counted since the model was loaded."""
        return cls(
            counters.ranks_routed, counters.ranks_replaced, counters.gate_mass_wanted, counters.gate_mass_used
        )

    def __add__(self, other: RoutingCost) -> RoutingCost:
        return RoutingCost(
            self.ranks + other.ranks,
            self.replaced + other.replaced,
            self.gate_mass_wanted + other.gate_mass_wanted,
            self.gate_mass_used + other.gate_mass_used,
        )

    @property
    def replaced_share(self) -> float:
        return self.replaced / self.ranks if self.ranks else 0.0

    @property
    def gate_mass_lost(self) -> float:
        """Share of the wanted gate mass, 0 to 1."""
        lost = self.gate_mass_wanted - self.gate_mass_used
        return lost / self.gate_mass_wanted if self.gate_mass_wanted else 0.0


def routing_cost(wanted: Ids, used: Ids, probabilities: NDArray[np.float32]) -> RoutingCost:
    """Cost of using `used` where the router wanted `wanted`, both (tokens, top_k).

    `probabilities`: the router's, shape (tokens, experts).
    """
    is_wanted = (used[:, :, None] == wanted[:, None, :]).any(axis=2)
    return RoutingCost(
        ranks=used.size,
        replaced=int(used.size - np.count_nonzero(is_wanted)),
        gate_mass_wanted=float(np.take_along_axis(probabilities, wanted, 1).sum(dtype=np.float64)),
        gate_mass_used=float(np.take_along_axis(probabilities, used, 1).sum(dtype=np.float64)),
    )
