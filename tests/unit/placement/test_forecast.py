"""Forecasts by hand, and against dice."""

from __future__ import annotations

import numpy as np
import pytest

from engine.placement.forecast import LayerForecast, RateRange, decode_range, forecast_layers, hit_rate
from engine.placement.placement_plan import ClassPlan, PlacementPlan, SlotClassSpec
from engine.placement.routing_policy import choose_resident
from engine.placement.use_estimate import KnownUse

_PRIOR = 0.3  # of uniform use, as in UseEstimate


def plan(slots: int, pool: int = 0, layers: tuple[int, ...] = (0, 1)) -> PlacementPlan:
    return PlacementPlan((ClassPlan(SlotClassSpec(layers, 8, 100), slots, pool),), 1)


def test_uniform_use_hits_as_often_as_experts_are_there() -> None:
    layers = forecast_layers(plan(6), 2, False, [None], 1)
    assert [each.layer for each in layers] == [0, 1]
    assert hit_rate(layers) == pytest.approx(6 / 16)
    assert [each.requests for each in layers] == pytest.approx([2, 2])


def test_a_unit_asks_for_distinct_experts() -> None:
    # 8 experts, each picked by a token with 1/4: 8 * (1 - 0.75^3) distinct ones, half of them there
    layer = forecast_layers(plan(8), 2, False, [None], 3)[0]
    assert layer.requests == pytest.approx(8 * (1 - 0.75**3))
    assert layer.misses == pytest.approx(4 * (1 - 0.75**3))


def test_known_favourites_are_the_ones_in_memory() -> None:
    known = np.zeros((2, 8))
    known[:, :2] = 0.8
    known[:, 2:] = 0.4 / 6
    layers = forecast_layers(plan(4), 2, False, [KnownUse(known, np.full(2, 100_000))], 1)
    prior = _PRIOR * 2 / 8
    assert hit_rate(layers) == pytest.approx(2 * (0.8 + prior) / (2 + 8 * prior))


def test_resident_routing_misses_at_rank_0_only() -> None:
    layers = forecast_layers(plan(16, pool=4), 2, True, [None], 1)
    # half of the experts are members: rank 0, one of two picks, misses every other time
    assert hit_rate(layers) == pytest.approx(1 - 1 / 2 * 1 / 2)


def test_resident_routing_in_units_against_dice() -> None:
    random, n_tokens, misses = np.random.default_rng(3), 4, 0
    members = np.arange(8) < 4
    n_units = 4000
    for _ in range(n_units):
        ranking = np.argsort(random.random((n_tokens, 8)), axis=1).astype(np.int32)
        used = np.unique(choose_resident(ranking, 2, members))
        misses += np.count_nonzero(~members[used])
    layer = forecast_layers(plan(16, pool=4), 2, True, [None], n_tokens)[0]
    assert layer.misses == pytest.approx(misses / n_units, rel=0.03)


def test_layers_of_several_classes_come_in_order_and_count_alike() -> None:
    both = PlacementPlan((*plan(16, layers=(1, 2)).classes, *plan(0, layers=(0,)).classes), 1)
    layers = forecast_layers(both, 2, False, [None, None], 1)
    assert [each.layer for each in layers] == [0, 1, 2]
    assert hit_rate(layers) == pytest.approx(2 / 3)


def test_without_experts_everything_is_there() -> None:
    assert hit_rate(forecast_layers(PlacementPlan((), 1), 0, False, [], 1)) == 1
    assert hit_rate([LayerForecast(0, 4.0, 1.0)]) == 0.75


def test_rates_with_and_without_overlap() -> None:
    # half a second of reading, a quarter of a second of memory
    assert decode_range(500, 250, 1000, 1000) == RateRange(1 / 0.75, 2)
