"""The planner against a brute-force reading of its rules and hand-worked cases."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BudgetError, UsageError
from engine.placement.placement_plan import (
    PlacementRequest,
    SlotClassSpec,
    pool_per_layer,
    worst_case_experts,
)
from engine.placement.unit_choice import plan_placement

MIB = 1 << 20


def spec(n_layer: int = 12, n_expert: int = 128, slot_bytes: int = MIB, first: int = 0) -> SlotClassSpec:
    return SlotClassSpec(tuple(range(first, first + n_layer)), n_expert, slot_bytes)


def test_budget_is_shared_by_expert_count() -> None:
    request = PlacementRequest((spec(8), spec(4, first=8)), top_k=8, slots_budget_bytes=768 * MIB)
    plan = plan_placement(request)
    assert [c.slots for c in plan.classes] == [512, 256]  # half of 8*128 and of 4*128


def test_everything_resident_when_it_fits() -> None:
    plan = plan_placement(PlacementRequest((spec(2, 16),), 4, 1000 * MIB))
    assert plan.classes[0].slots == 32
    assert plan.classes[0].is_fully_resident
    assert plan.classes[0].decode_pool == 16


def test_pool_leaves_a_window_for_two_layers() -> None:
    # 12 layers x 128 experts, 716 slots, all 128 needed: 716 - 12 p >= 2 (128 - p)  =>  p <= 46
    assert pool_per_layer(spec(), 716, 128) == 46


def test_pool_falls_back_to_one_layer_of_window() -> None:
    # 150 slots can't hold two layers of 128 misses: 150 - 12 p >= 128 - p  =>  p <= 2
    assert pool_per_layer(spec(), 150, 128) == 2


def test_unit_shrinks_until_its_worst_case_fits() -> None:
    # 100 slots of 128 experts, top-8: 12 tokens need 96 experts, 13 would need 104
    plan = plan_placement(PlacementRequest((spec(),), 8, 100 * MIB, unit_tokens=64))
    assert plan.unit_tokens == 12


def test_unit_is_kept_when_all_experts_of_a_layer_fit() -> None:
    plan = plan_placement(PlacementRequest((spec(),), 8, 130 * MIB, unit_tokens=64))
    assert plan.unit_tokens == 64


def test_too_small_budget_is_named() -> None:
    with pytest.raises(BudgetError, match=r"3 MiB too small"):
        plan_placement(PlacementRequest((spec(),), 8, 5 * MIB))


def test_explicit_slots_are_clamped_to_top_k_and_all() -> None:
    assert plan_placement(PlacementRequest((spec(),), 8, 0, slots_per_class=1)).classes[0].slots == 8
    assert plan_placement(PlacementRequest((spec(),), 8, 0, slots_per_class=10**6)).classes[0].slots == 1536


def test_pool_refuses_an_impossible_need() -> None:
    with pytest.raises(UsageError):
        pool_per_layer(spec(), 7, 8)


@given(
    n_layer=st.integers(1, 60),
    n_expert=st.integers(1, 300),
    top_k=st.integers(1, 12),
    budget_slots=st.integers(1, 4000),
    unit=st.one_of(st.none(), st.integers(1, 600)),
    hot=st.one_of(st.none(), st.integers(0, 300)),
)
def test_worst_case_always_fits(
    n_layer: int, n_expert: int, top_k: int, budget_slots: int, unit: int | None, hot: int | None
) -> None:
    top_k = min(top_k, n_expert)
    classes = (spec(n_layer, n_expert),)
    request = PlacementRequest(classes, top_k, budget_slots * MIB, unit, hot_per_layer=hot)
    if budget_slots < top_k:
        with pytest.raises(BudgetError):
            plan_placement(request)
        return
    plan = plan_placement(request)
    (only,) = plan.classes
    assert plan.slots_bytes <= request.slots_budget_bytes
    need = worst_case_experts(n_expert, top_k, plan.unit_tokens)
    # a pool gives way to a unit of the prompt, hot experts never do
    for kept, needed in ((only.hot_per_layer, need), (only.decode_pool, min(top_k, n_expert))):
        window = only.slots - n_layer * kept
        # at most `needed` experts are wanted, and at most n_expert - kept of them can be outside
        assert window >= min(needed, n_expert - kept)
    assert only.hot_per_layer <= min(only.decode_pool, n_expert if hot is None else hot)
    if hot is None:
        assert only.hot_per_layer <= 5


@given(
    sizes=st.lists(
        st.tuples(st.integers(1, 8), st.integers(2, 64), st.integers(1, 9)), min_size=1, max_size=4
    ),
    budget=st.integers(0, 400),
)
def test_several_classes_never_exceed_the_budget(sizes: list[tuple[int, int, int]], budget: int) -> None:
    classes = tuple(spec(n, e, size, first=100 * i) for i, (n, e, size) in enumerate(sizes))
    least = sum(min(2, c.n_expert) * c.slot_bytes for c in classes)
    request = PlacementRequest(classes, 2, budget)
    if least > budget:
        with pytest.raises(BudgetError):
            plan_placement(request)
    else:
        plan = plan_placement(request)
        assert plan.slots_bytes <= budget
        assert all(c.slots >= min(2, c.spec.n_expert) for c in plan.classes)


def test_resident_pools_have_the_asked_size_and_a_window_for_rank_0() -> None:
    # 12 layers x 20 = 240 of 300 slots; 60 are left for 60 tokens whose first choice is outside the pool
    plan = plan_placement(PlacementRequest((spec(),), 8, 300 * MIB, is_resident=True))
    assert [(c.decode_pool, c.hot_per_layer) for c in plan.classes] == [(20, 5)]
    assert plan.unit_tokens == 32
    asked = PlacementRequest((spec(),), 8, 300 * MIB, unit_tokens=100, is_resident=True)
    assert plan_placement(asked).unit_tokens == 60


def test_resident_pools_shrink_to_what_fits() -> None:
    # 121 slots: ten per layer and one for a miss
    plan = plan_placement(PlacementRequest((spec(),), 8, 121 * MIB, pool_per_layer=30, is_resident=True))
    assert (plan.classes[0].decode_pool, plan.unit_tokens) == (10, 1)


def test_resident_pools_of_all_experts_need_no_window() -> None:
    request = PlacementRequest((spec(2, 16),), 4, 1000 * MIB, pool_per_layer=99, is_resident=True)
    assert (plan_placement(request).classes[0].decode_pool, plan_placement(request).unit_tokens) == (16, 512)


def test_resident_routing_needs_a_choice_in_every_layer() -> None:
    # 12 layers x top-8 and one slot more
    with pytest.raises(BudgetError, match="1 MiB too small"):
        plan_placement(PlacementRequest((spec(),), 8, 96 * MIB, is_resident=True))


@pytest.mark.parametrize(
    ("slots", "asked", "hot"),
    [
        (1536, None, 5), (1536, 9, 9), (1535, None, 5), (240, None, 5),  # 20 slots per layer and more
        (239, None, 4), (150, None, 2),  # a quarter of 19, of 12; 150 slots hold 128 experts beside 2
        (129, None, 0), (129, 5, 0),  # 128 experts that one unit needs and one slot
        (240, 7, 7), (240, 20, 10), (1536, 0, 0),  # 240 - 12 h >= 128 - h  =>  h <= 10
    ],
)  # fmt: skip
def test_the_hot_zone_is_a_quarter_of_a_layer_s_slots_and_leaves_what_a_unit_needs(
    slots: int, asked: int | None, hot: int
) -> None:
    plan = plan_placement(PlacementRequest((spec(),), 8, slots * MIB, hot_per_layer=asked))
    assert plan.unit_tokens == 512
    assert plan.classes[0].hot_per_layer == hot


@pytest.mark.parametrize(("asked", "hot"), [(None, 5), (0, 0), (3, 3), (99, 20)])
def test_with_resident_routing_the_hot_ones_are_members(asked: int | None, hot: int) -> None:
    request = PlacementRequest((spec(),), 8, 300 * MIB, is_resident=True, hot_per_layer=asked)
    assert plan_placement(request).classes[0].hot_per_layer == hot


def test_an_asked_pool_limits_the_automatic_one() -> None:
    request = PlacementRequest((spec(),), 8, 716 * MIB, pool_per_layer=20)
    assert plan_placement(request).classes[0].decode_pool == 20
