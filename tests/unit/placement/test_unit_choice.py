"""The choice of the unit against formulas of its own, and what must hold for any shape and budget."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BudgetError
from engine.placement.placement_plan import AUTO_UNITS, PlacementPlan, PlacementRequest, SlotClassSpec
from engine.placement.unit_choice import expected_cost, plan_placement

MIB = 1 << 20
LAYER_SHARE = 0.15  # of a byte from the drive, for one that passes the processor


@dataclass(frozen=True)
class Step:
    """Bytes beside slots: so many per token, never fewer than `floor`."""

    per_token: int
    floor: int = 0

    def __call__(self, unit_tokens: int) -> int:
        return max(self.floor, unit_tokens * self.per_token)


def spec(n_layer: int = 12, n_expert: int = 128, slot_bytes: int = MIB, first: int = 0) -> SlotClassSpec:
    return SlotClassSpec(tuple(range(first, first + n_layer)), n_expert, slot_bytes)


@st.composite
def requests(draw: st.DrawFn) -> PlacementRequest:
    shapes = st.tuples(st.integers(1, 6), st.integers(1, 40), st.integers(1, 9))
    classes, first = [], 0
    for n_layer, n_expert, slot_bytes in draw(st.lists(shapes, min_size=1, max_size=3)):
        classes.append(spec(n_layer, n_expert, slot_bytes, first))
        first += n_layer
    return PlacementRequest(
        tuple(classes),
        draw(st.integers(1, 10)),
        draw(st.integers(0, 3000)),
        draw(st.one_of(st.none(), st.integers(1, 600))),
        largest_unit_tokens=draw(st.sampled_from([512, 100, 7])),
        pool_per_layer=draw(st.one_of(st.none(), st.integers(1, 50))),
        is_resident=draw(st.booleans()),
        hot_per_layer=draw(st.one_of(st.none(), st.integers(0, 9))),
        unit_bytes=Step(draw(st.integers(0, 20)), draw(st.integers(0, 40))),
    )


def least(request: PlacementRequest) -> int:
    """Bytes without which not even a token passes, by its definition."""
    total = request.unit_bytes(1)
    for each in request.classes:
        top_k = min(request.top_k, each.n_expert)
        everything = len(each.layers) * each.n_expert
        slots = min(len(each.layers) * top_k + 1, everything) if request.is_resident else top_k
        total += slots * each.slot_bytes
    return total


def planned(request: PlacementRequest) -> PlacementPlan | None:
    if request.slots_budget_bytes < least(request):
        with pytest.raises(BudgetError):
            plan_placement(request)
        return None
    return plan_placement(request)


@given(request=requests())
def test_the_chosen_unit_fits_and_gets_its_experts(request: PlacementRequest) -> None:
    plan = planned(request)
    if plan is None:
        return
    unit = plan.unit_tokens
    assert 1 <= unit <= (request.unit_tokens or request.largest_unit_tokens)
    assert plan.slots_bytes + request.unit_bytes(unit) <= request.slots_budget_bytes
    for each in plan.classes:
        n_expert, top_k = each.spec.n_expert, min(request.top_k, each.spec.n_expert)
        # exact: the hot ones never give way; resident: members don't, and only rank 0 is from outside
        kept, need = each.hot_per_layer, min(n_expert, unit * top_k)
        if request.is_resident:
            kept, need = each.decode_pool, min(n_expert, unit)
            assert top_k <= kept <= max(request.pool_per_layer or 20, top_k)
        assert each.slots - kept * len(each.spec.layers) >= min(need, n_expert - kept)


@given(request=requests(), more=st.integers(1, 500))
def test_no_larger_budget_gives_a_worse_forecast(request: PlacementRequest, more: int) -> None:
    plan = planned(request)
    larger = planned(replace(request, slots_budget_bytes=request.slots_budget_bytes + more))
    if plan is None or larger is None:
        return
    if request.unit_tokens is not None:  # what was asked for comes first: the pools, then the unit
        pools = [[each.decode_pool for each in one.classes] for one in (larger, plan)]
        assert larger.unit_tokens >= plan.unit_tokens or (request.is_resident and pools[0] > pools[1])
    else:
        assert expected_cost(request, larger) <= expected_cost(request, plan) * (1 + 1e-9)


def cost_by_hand(each: SlotClassSpec, slots: int, top_k: int, unit: int) -> float:
    """Exact routing, one class: experts to read and to pass for a token of a prompt and one of an answer."""
    absent = len(each.layers) * each.n_expert - slots
    touched = 1 - (1 - top_k / each.n_expert) ** unit
    passed = LAYER_SHARE * len(each.layers) * each.n_expert * touched / unit
    return each.slot_bytes * (absent * touched / unit + absent * top_k / each.n_expert + passed)


@given(budget=st.integers(8, 1600), per_token=st.integers(0, 2000))
def test_no_other_unit_would_cost_less(budget: int, per_token: int) -> None:
    each, unit_bytes = spec(slot_bytes=1000), Step(per_token)
    request = PlacementRequest((each,), 8, budget * 1000, unit_bytes=unit_bytes)
    plan = planned(request)
    costs = {}
    for unit in AUTO_UNITS:
        slots = min(each.all_slots, (budget * 1000 - unit_bytes(unit)) // 1000)
        if slots >= min(128, 8 * unit):
            costs[unit] = cost_by_hand(each, slots, 8, unit)
    assert (plan is None) is (not costs)
    if plan is not None:
        assert costs[plan.unit_tokens] == pytest.approx(min(costs.values()))
        assert expected_cost(request, plan) == pytest.approx(costs[plan.unit_tokens])


def test_near_the_least_a_small_unit_takes_a_small_context() -> None:
    # a token of a unit takes a quarter of a slot: a unit of 512 would take 128 slots, more than there are
    request = PlacementRequest((spec(),), 8, 100 * MIB, unit_bytes=Step(MIB // 4))
    plan = plan_placement(request)
    # 8 tokens need 64 experts and leave 98 slots; 16 would need 128
    assert (plan.unit_tokens, plan.classes[0].slots) == (8, 98)
    roomy = plan_placement(replace(request, slots_budget_bytes=140 * MIB))
    assert (roomy.unit_tokens, roomy.classes[0].slots) == (32, 132)


def test_a_larger_unit_may_be_worth_some_slots_but_not_many() -> None:
    # 8 MiB beyond all 1536 slots: 32 tokens' worth. 128 tokens cost 24 slots and pass each expert for four
    # times as many tokens; 256 tokens would cost 32 slots more and save little
    request = PlacementRequest((spec(),), 8, 1544 * MIB, unit_bytes=Step(MIB // 4))
    plan = plan_placement(request)
    assert (plan.unit_tokens, plan.classes[0].slots) == (128, 1512)


def test_members_are_worth_more_than_a_larger_unit() -> None:
    """Of 300 slots 20 per layer are members; what a unit takes beyond the other 60 would cost members."""
    request = PlacementRequest((spec(),), 8, 300 * MIB, is_resident=True, unit_bytes=Step(MIB))
    plan = plan_placement(request)
    assert (plan.classes[0].decode_pool, plan.unit_tokens, plan.classes[0].slots) == (20, 16, 284)


def test_a_pool_is_never_smaller_than_what_a_token_picks() -> None:
    request = PlacementRequest((spec(),), 8, 300 * MIB, pool_per_layer=3, is_resident=True)
    assert plan_placement(request).classes[0].decode_pool == 8


@pytest.mark.parametrize(
    ("current", "kept"),
    [
        (128, 128),  # the best
        (64, 64),  # 19 % worse
        (512, 128),  # 96 slots fewer
    ],
)
def test_a_unit_in_use_stays_unless_another_is_clearly_better(current: int, kept: int) -> None:
    request = PlacementRequest((spec(),), 8, 1544 * MIB, unit_bytes=Step(MIB // 4))
    assert plan_placement(request, current).unit_tokens == kept


def test_a_settled_unit_stays_wherever_it_fits() -> None:
    request = PlacementRequest((spec(),), 8, 1544 * MIB, unit_bytes=Step(MIB // 4))
    assert plan_placement(request, 16, is_settled=True).unit_tokens == 16


@pytest.mark.parametrize("is_settled", [False, True])
def test_a_unit_in_use_that_does_not_fit_gives_way(is_settled: bool) -> None:
    request = PlacementRequest((spec(),), 8, 100 * MIB, unit_bytes=Step(MIB // 4))
    assert plan_placement(request, 16, is_settled).unit_tokens == 8


def test_a_unit_in_use_stays_where_the_difference_is_small() -> None:
    request = PlacementRequest((spec(),), 8, 1000 * MIB, unit_bytes=Step(MIB // 4))
    costs = {}
    for unit in (512, 256):
        costs[unit] = cost_by_hand(spec(), 1000 - unit // 4, 8, unit)
    assert 1 < costs[512] / costs[256] < 1.1
    assert [plan_placement(request, unit).unit_tokens for unit in (512, 256)] == [512, 256]
    assert plan_placement(request).unit_tokens == 256
