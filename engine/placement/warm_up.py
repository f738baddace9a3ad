"""Which experts a warm-up should bring into memory, and what that is worth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Chances = NDArray[np.float64]


def warm_up_experts(chance: Chances, n_slots: int) -> list[NDArray[np.int64]]:
    """For each row of `chance` (rows, experts), the experts that should hold the class's `n_slots`.

    The likeliest of all rows together: no other choice has higher `expected_hits` on average. Where chances
    are equal, as before anything was learned, every row gets as many as the others.
    """
    chance = chance / chance.sum(axis=1, keepdims=True)  # every row is asked for as many experts
    rank_in_row = np.argsort(np.argsort(-chance, axis=1, kind="stable"), axis=1, kind="stable")
    best_first = np.lexsort((rank_in_row.ravel(), -chance.ravel()))
    is_chosen = np.zeros(chance.size, np.bool_)
    is_chosen[best_first[:n_slots]] = True
    return [np.flatnonzero(row) for row in is_chosen.reshape(chance.shape)]


def most_wanted(weight: Chances, is_candidate: NDArray[np.bool_], count: int) -> list[NDArray[np.int64]]:
    """For each row of `weight` (rows, experts), the candidates among the `count` of the most weight in all.

    None whose weight is 0; among equals those of the first rows.
    """
    key = np.where(is_candidate, weight, 0.0).ravel()
    best = np.argsort(-key, kind="stable")[:count]
    is_chosen = np.zeros(key.size, np.bool_)
    is_chosen[best[key[best] > 0]] = True
    return [np.flatnonzero(row) for row in is_chosen.reshape(weight.shape)]


def expected_hits(weight: Chances, is_resident: NDArray[np.bool_]) -> Chances:
    """Per row, the share of requests that memory serves if experts are wanted in proportion to `weight`.

    A row whose weights are all 0 counts every expert alike.
    """
    known = np.where(weight.sum(axis=1, keepdims=True) > 0, weight, 1.0)
    hits: Chances = (known * is_resident).sum(axis=1) / known.sum(axis=1)
    return hits
