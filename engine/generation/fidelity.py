"""How far resident routing is from exact routing: figures from two runs over the same text. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.placement.routing_trace import RoutingTrace

_LEAST_LOOP_TOKENS = 32


@dataclass(frozen=True, slots=True)
class FidelityFigures:
    """`kl_mean` in nats per token; shares from 0 to 1; `loops` of `generations` ran into a loop.

    `sets_changed_share`: tokens for which at least one layer used another set of experts.
    `gate_mass_lost`, `ranks_replaced_share`: see placement.routing_policy.RoutingCost.
    """

    tokens: int
    kl_mean: float
    top1_agreement: float
    sets_changed_share: float
    ranks_replaced_share: float
    gate_mass_lost: float
    loops: int
    generations: int


def kl_divergence(exact: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """Kullback-Leibler divergence D(exact || other) in nats of two logit vectors, sum p (log p - log q)."""
    log_p, log_q = _log_softmax(exact), _log_softmax(other)
    return float((np.exp(log_p) * (log_p - log_q)).sum())


def _log_softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    shifted: NDArray[np.float64] = logits.astype(np.float64) - float(logits.max())
    shifted -= np.log(np.exp(shifted).sum())
    return shifted


def changed_share(exact: RoutingTrace, other: RoutingTrace) -> float:
    """Share of passes (tokens, if each was a pass) in which some layer used another set of experts."""
    pairs = list(zip(_sets(exact), _sets(other), strict=True))
    return sum(a != b for a, b in pairs) / len(pairs) if pairs else 0.0


def _sets(trace: RoutingTrace) -> list[dict[int, tuple[int, ...]]]:
    """Experts by layer, for each pass in order."""
    passes: defaultdict[int, dict[int, tuple[int, ...]]] = defaultdict(dict)
    for step in trace.steps:
        passes[step.pass_number][step.row] = tuple(step.experts.tolist())
    return list(passes.values())


def longest_loop(tokens: Sequence[int]) -> int:
    """Length in tokens of the longest stretch that says one thing three times or more, 0 if there is none.

    A stretch with period p repeats as long as every token equals the one p before it; short ones, below 32
    tokens, are lists and tables, not loops.
    """
    values = np.asarray(tokens)
    longest = 0
    for period in range(1, len(values) // 3 + 1):
        repeated = _longest_run(values[period:] == values[:-period])
        length = repeated + period
        if length >= max(3 * period, _LEAST_LOOP_TOKENS):
            longest = max(longest, length)
    return longest


def _longest_run(flags: NDArray[np.bool_]) -> int:
    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False])).astype(np.int8)))
    return int((edges[1::2] - edges[::2]).max(initial=0))
