"""Resident routing against a reading of its rule token by token, and cases worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.placement.resident_pools import PoolShape, ResidentPools
from engine.placement.routing_policy import RoutingCost, choose_resident, routing_cost


def one_token(ranking: list[int], top_k: int, members: set[int]) -> list[int]:
    """The rule of the design, word by word."""
    chosen = [ranking[0]]
    for expert in ranking[1:]:
        if len(chosen) < top_k and expert in members:
            chosen.append(expert)
    return chosen


@st.composite
def cases(draw: st.DrawFn) -> tuple[np.ndarray, int, set[int]]:
    n_expert = draw(st.integers(2, 12))
    top_k = draw(st.integers(1, n_expert))
    rankings = draw(st.lists(st.permutations(range(n_expert)), min_size=0, max_size=5))
    members = draw(st.sets(st.integers(0, n_expert - 1), min_size=top_k))
    return np.array(rankings, np.int32).reshape(len(rankings), n_expert), top_k, members


@given(cases())
def test_the_rule_token_by_token(case: tuple[np.ndarray, int, set[int]]) -> None:
    ranking, top_k, members = case
    mask = np.isin(np.arange(ranking.shape[1]), list(members))
    chosen = choose_resident(ranking, top_k, mask)
    assert chosen.tolist() == [one_token(row, top_k, members) for row in ranking.tolist()]


@given(cases(), st.integers(1, 4))
def test_a_token_s_place_in_its_unit_changes_nothing(
    case: tuple[np.ndarray, int, set[int]], unit: int
) -> None:
    ranking, top_k, members = case
    mask = np.isin(np.arange(ranking.shape[1]), list(members))
    whole = choose_resident(ranking, top_k, mask)
    parts = [choose_resident(ranking[at : at + unit], top_k, mask) for at in range(0, len(ranking), unit)]
    assert np.concatenate([whole[:0], *parts]).tolist() == whole.tolist()


def test_with_every_expert_a_member_it_is_exact() -> None:
    ranking = np.array([[3, 1, 0, 2], [2, 0, 1, 3]], np.int32)
    assert choose_resident(ranking, 2, np.ones(4, np.bool_)).tolist() == [[3, 1], [2, 0]]


def test_cost_of_one_replaced_rank() -> None:
    # wanted 0.4 + 0.3, used 0.4 + 0.1: one of two ranks replaced, 2/7 of the mass lost
    probabilities = np.array([[0.1, 0.4, 0.2, 0.3]], np.float32)
    cost = routing_cost(np.array([[1, 3]], np.int32), np.array([[1, 0]], np.int32), probabilities)
    assert (cost.ranks, cost.replaced, cost.replaced_share) == (2, 1, 0.5)
    assert cost.gate_mass_lost == pytest.approx(2 / 7, rel=1e-6)


def test_another_order_costs_nothing() -> None:
    probabilities = np.full((1, 4), 0.25, np.float32)
    cost = routing_cost(np.array([[1, 3]], np.int32), np.array([[3, 1]], np.int32), probabilities)
    assert (cost.replaced, cost.gate_mass_lost) == (0, 0)
    assert cost + cost == RoutingCost(4, 0, 1.0, 1.0)
    assert RoutingCost().gate_mass_lost == RoutingCost().replaced_share == 0


def pools(members: int = 2, n_expert: int = 6, **options: object) -> ResidentPools:
    return ResidentPools([PoolShape(n_expert, members)], **options)  # type: ignore[arg-type] # test shorthand


def members_of(some: ResidentPools) -> list[int]:
    return np.flatnonzero(some.members[0]).tolist()


def test_first_members_are_the_hottest_of_before_else_the_first() -> None:
    assert members_of(pools()) == [0, 1]
    assert members_of(pools(heat=np.array([[0, 3, 0, 9, 3, 0]]))) == [1, 3]


def test_only_members_and_first_ranks_are_elected() -> None:
    some = pools()
    # 5 is wanted most, but never as rank 0; 4 was rank 0 twice, 1 once
    some.observe(0, np.array([[4, 5], [4, 5], [1, 5]], np.int32))
    assert some.elect()
    assert members_of(some) == [1, 4]
    assert some.elect(from_all=True)
    assert members_of(some) == [4, 5]


@pytest.mark.parametrize(("wishes", "elected"), [(4, [2, 3]), (5, [2, 3]), (6, [3, 5])])
def test_a_member_gives_way_only_to_who_is_wanted_clearly_more(wishes: int, elected: list[int]) -> None:
    some = pools(heat=np.array([[0, 0, 4.0, 9.0, 0, 0]]))
    some.observe(0, np.array([[5, 0]] * wishes, np.int32))  # 4 is worth 5 of a newcomer's
    assert some.elect() is (elected != [2, 3])
    assert members_of(some) == elected


def test_a_fixed_pool_learns_only_by_warm_up() -> None:
    some = pools(is_fixed=True)
    some.observe(0, np.array([[4, 5]], np.int32))
    assert not some.elect()
    assert members_of(some) == [0, 1]
    assert some.elect(from_all=True)
    assert members_of(some) == [4, 5]


@given(st.lists(st.permutations(range(6)), min_size=1, max_size=12), st.integers(1, 12))
def test_units_change_no_election(tokens: list[list[int]], unit: int) -> None:
    wanted = np.array(tokens, np.int32)[:, :3]
    whole, cut = pools(3), pools(3)
    whole.observe(0, wanted)
    whole.count_tokens(len(wanted))
    for at in range(0, len(wanted), unit):
        cut.observe(0, wanted[at : at + unit])
        cut.count_tokens(len(wanted[at : at + unit]))
    whole.elect()
    cut.elect()
    assert np.array_equal(whole.members, cut.members)
    assert np.array_equal(whole.heat, cut.heat)


def test_heat_fades_with_the_tokens_of_a_pass() -> None:
    some = pools(heat=np.array([[10.0, 0, 0, 0, 0, 0]]))
    some.count_tokens(2)
    some.elect()
    assert some.heat[0, 0] == pytest.approx(10 * 0.98**2)
