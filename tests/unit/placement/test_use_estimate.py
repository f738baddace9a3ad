"""The expected wait against values worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from engine.placement.use_estimate import KnownUse, UseEstimate

_DECAYS = (0.6, 0.9, 0.98, 0.998)
_PRIOR = 0.3 * 1 / 4


def ids(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def test_chance_of_an_expert_seen_once_then_not() -> None:
    uses = UseEstimate(n_row=1, n_expert=4, top_k=1)
    uses.observe(0, ids(2), ids(1), 1)
    uses.observe(0, ids(3), ids(1), 1)
    expected = _PRIOR + sum((1 - d) * d for d in _DECAYS) / 4
    assert uses.chance[0] == pytest.approx(
        [_PRIOR, _PRIOR, expected, _PRIOR + sum(1 - d for d in _DECAYS) / 4]
    )


def test_a_unit_counts_as_its_tokens() -> None:
    # 3 of 4 tokens: each memory moves 1 - d^4 of the way to 3/4
    uses = UseEstimate(n_row=1, n_expert=4, top_k=1)
    uses.observe(0, ids(1), ids(3), 4)
    assert uses.chance[0, 1] == pytest.approx(_PRIOR + sum((1 - d**4) * 0.75 for d in _DECAYS) / 4)


def test_the_wait_is_the_way_round_plus_the_tokens_between() -> None:
    uses = UseEstimate(n_row=4, n_expert=4, top_k=1)
    uses.chance[:] = 0.25
    uses.chance[2, 3] = 0.5
    # layer 2 is half a pass ahead of layer 0, layer 3 three quarters, layer 0 itself a whole one
    waits = uses.expected_wait(ids(2 * 4 + 3, 3 * 4, 0), current_row=0, n_tokens=1)
    assert waits == pytest.approx([0.5 + 1, 0.75 + 3, 1 + 3])


def test_a_better_known_chance_decides_the_wait() -> None:
    uses = UseEstimate(n_row=4, n_expert=4, top_k=1)
    waits = uses.expected_wait(ids(2 * 4 + 3, 3 * 4), 0, n_tokens=1, chance=np.array([0.8, 0.1]))
    assert waits == pytest.approx([0.5 + 0.25, 0.75 + 9])


def test_in_a_unit_an_expert_is_needed_if_any_token_picks_it() -> None:
    uses = UseEstimate(n_row=2, n_expert=4, top_k=1)
    uses.chance[:] = 0.5
    assert uses.expected_wait(ids(4), 0, n_tokens=2) == pytest.approx([0.5 + 1 / 0.75 - 1])


def test_what_lasts_is_the_share_of_tokens_however_few_there_were() -> None:
    uses = UseEstimate(n_row=2, n_expert=4, top_k=1)
    for _ in range(3):  # a quarter of each unit's tokens pick expert 1, the rest expert 2
        uses.observe(0, ids(1, 2), ids(2, 6), 8)
    assert uses.lasting().chance[0] == pytest.approx([0, 0.25, 0.75, 0])
    assert not uses.lasting().chance[1].any()
    assert uses.lasting().tokens.tolist() == [24, 0]


@pytest.mark.parametrize("n_before", [3, 3000])
def test_a_second_session_goes_on_where_the_first_stopped(n_before: int) -> None:
    # a steady diet: what the long memories hold then is what they would hold without the break
    steady, broken = (UseEstimate(n_row=1, n_expert=4, top_k=1) for _ in range(2))
    for uses in (steady, broken):
        uses.observe(0, ids(1, 2), ids(n_before // 3, n_before - n_before // 3), n_before)
    again = UseEstimate(1, 4, 1, broken.lasting())
    for uses in (steady, again):
        uses.observe(0, ids(0), ids(1), 1)
    assert again.lasting().chance == pytest.approx(steady.lasting().chance)
    assert again.lasting().tokens.tolist() == [n_before + 1]
    assert again.chance == pytest.approx(steady.chance)


def test_few_tokens_weigh_little_against_the_prior() -> None:
    known = [
        UseEstimate(1, 4, 1, KnownUse(np.array([[0.0, 0.0, 1.0, 0.0]]), np.array([n]))) for n in (1, 1000)
    ]
    few, many = (uses.chance[0, 2] - _PRIOR for uses in known)
    assert few == pytest.approx(sum(1 - d for d in _DECAYS) / 4)
    assert many == pytest.approx(sum(1 - d**1000 for d in _DECAYS) / 4)


def test_prior_fades_from_what_is_likely() -> None:
    uses = UseEstimate(1, 16, 2)
    prior = 0.3 * 2 / 16
    assert uses.likely(0) == pytest.approx(np.full(16, prior))
    uses.observe(0, np.array([3]), np.array([48]), 48)
    assert uses.likely(0)[0] == pytest.approx(prior * 16 / (48 + 16))  # never seen in 48 tokens
    seen = np.mean([1 - decay**48 for decay in (0.6, 0.9, 0.98, 0.998)])  # picked by all 48
    assert uses.likely(0)[3] == pytest.approx(seen + prior * 16 / (48 + 16))
