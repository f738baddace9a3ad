"""Simulated residency: budgets are hard, counts agree with the map, use is uneven."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.backends.fake_residency import DISK, POOL, WINDOW, FakeResidency
from engine.placement.tier import Tier


def residency(
    pool: int = 4, window: int = 6, exponent: float = 1.1, seed: int = 3, hot: int = 0
) -> FakeResidency:
    return FakeResidency((5, 16), 2, pool, window, (exponent, seed), hot)


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(1, 20), st.booleans()), max_size=20), st.integers(2, 16), st.integers(1, 9)
)
def test_pools_and_window_never_exceed_their_slots(
    units: list[tuple[int, bool]], pool: int, window: int
) -> None:
    simulated = residency(pool, window)
    read = evicted = 0
    for n_tokens, is_prefill in units:
        outcome = simulated.run_unit(n_tokens, is_prefill)
        read += outcome.misses + outcome.streamed
        evicted += outcome.evictions
        sample = simulated.sample()
        assert ((sample.tiers == POOL).sum(axis=1) <= pool).all()
        assert (sample.tiers == WINDOW).sum() <= window
        # what came in and was not thrown out is still there
        assert (sample.tiers != DISK).sum() == read - evicted


def test_every_token_picks_top_k_different_experts_in_every_layer() -> None:
    simulated = residency()
    assert simulated.run_unit(1, is_prefill=False).requests == 5 * 2
    uses = simulated.sample().decode_uses
    assert (uses.sum(axis=1) == 2).all()
    assert uses.max() == 1


def test_prefill_and_decode_are_counted_apart() -> None:
    simulated = residency()
    simulated.run_unit(7, is_prefill=True)
    simulated.run_unit(1, is_prefill=False)
    sample = simulated.sample()
    assert sample.prefill_uses.sum() == 7 * 2 * 5
    assert sample.decode_uses.sum() == 2 * 5
    assert sample.last_use_pass.max() == 2
    assert (sample.last_use_pass[sample.prefill_uses + sample.decode_uses == 0] == 0).all()


def test_only_the_first_layer_misses_in_prefill() -> None:
    outcome = residency().run_unit(8, is_prefill=True)
    assert 2 <= outcome.misses <= 16
    assert outcome.misses + outcome.streamed == outcome.requests


@pytest.mark.parametrize(("exponent", "least", "most"), [(0.0, 0.2, 0.4), (1.5, 0.55, 1.0)])
def test_exponent_sets_how_uneven_use_is(exponent: float, least: float, most: float) -> None:
    simulated = residency(exponent=exponent)
    for _ in range(40):
        simulated.run_unit(16, is_prefill=True)
    uses = np.sort(simulated.sample().prefill_uses, axis=1)
    share_of_top_quarter = uses[:, -4:].sum() / uses.sum()
    assert least < share_of_top_quarter < most


def test_samples_are_frozen_copies() -> None:
    simulated = residency()
    before = simulated.sample()
    simulated.run_unit(4, is_prefill=True)
    assert before.prefill_uses.sum() == 0
    assert not any(a.flags.writeable for a in (before.prefill_uses, before.tiers, before.last_use_pass))


def test_hot_experts_are_used_most_and_stay() -> None:
    simulated = residency(pool=4, hot=2)
    for _ in range(20):
        simulated.run_unit(8, is_prefill=True)
    sample = simulated.sample()
    hot = sample.tiers == Tier.HOT
    assert hot.sum(axis=1).tolist() == [2] * 5
    in_pool = hot | (sample.tiers == POOL)
    assert in_pool.sum(axis=1).tolist() == [4] * 5
    uses = sample.prefill_uses
    assert (np.where(hot, uses, uses.max()).min(axis=1) * 1.25 >= (uses * (in_pool & ~hot)).max(axis=1)).all()
    outcome = simulated.run_unit(8, is_prefill=True)
    assert outcome.requests_by_tier[Tier.HOT] > 0
    assert (simulated.sample().tiers[hot] != DISK).all()
