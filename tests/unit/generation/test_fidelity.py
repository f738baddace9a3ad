"""Divergence, changed sets and loops, worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine.generation.fidelity import changed_share, kl_divergence, longest_loop
from engine.placement.routing_trace import RoutingRecorder, RoutingTrace


def test_divergence_of_two_coins() -> None:
    # p = (1/2, 1/2), q = (1/4, 3/4): 1/2 ln 2 + 1/2 ln(2/3)
    fair, biased = np.log(np.array([0.5, 0.5], np.float32)), np.log(np.array([0.25, 0.75], np.float32))
    assert kl_divergence(fair, biased) == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(2 / 3), rel=1e-6)
    assert kl_divergence(fair, fair) == 0


def test_divergence_ignores_what_softmax_ignores() -> None:
    logits = np.array([1.0, 2.0, 4.0], np.float32)
    assert kl_divergence(logits, logits + 700) == pytest.approx(0, abs=1e-6)


def _trace(*tokens: tuple[list[int], list[int]]) -> RoutingTrace:
    recorder = RoutingRecorder((0, 1), 8, 2)
    for number, layers in enumerate(tokens):
        for row, experts in enumerate(layers):
            recorder.add(number, row, False, np.array([experts], np.int32))
    return recorder.trace()


def test_a_token_counts_as_changed_if_any_layer_did() -> None:
    exact = _trace(([0, 1], [2, 3]), ([0, 1], [2, 3]), ([4, 5], [6, 7]), ([4, 5], [6, 7]))
    other = _trace(([1, 0], [2, 3]), ([0, 1], [2, 4]), ([4, 6], [6, 5]), ([4, 5], [7, 6]))
    assert changed_share(exact, other) == 0.5


def test_runs_of_other_lengths_are_not_compared() -> None:
    with pytest.raises(ValueError, match="zip"):
        changed_share(_trace(([0, 1], [2, 3])), _trace())


@pytest.mark.parametrize(
    ("tokens", "length"),
    [
        ([7] * 40, 40),
        ([1, 2, 3, *([4, 5, 6, 7] * 10), 8], 40),
        ([4, 5, 6, 7] * 7, 0),  # 28 tokens: a short list
        (list(range(20)) * 2, 0),  # said twice
        ([*range(100, 200), *(list(range(20)) * 2), *range(300, 400)], 0),  # said twice, in a long text
        (list(range(20)) * 3, 60),
        (list(range(300)), 0),
        ([], 0),
    ],
)
def test_a_loop_says_one_thing_three_times(tokens: list[int], length: int) -> None:
    assert longest_loop(tokens) == length
