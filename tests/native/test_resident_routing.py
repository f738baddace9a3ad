"""Resident routing: stock llama.cpp under the same rule gives the same logits; nothing physical matters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.config import LoadSettings, Routing
from engine.placement.routing_trace import RoutingTrace, load_trace
from engine.placement.tier import Tier
from tests.native.conftest import TinyModels
from tests.support.exact_runs import (
    assert_identical,
    loaded,
    prompt_tokens,
    run_ours,
    run_stock,
    settings_for,
)
from tests.support.resident_reference import run_resident_stock

_VARIANTS = ("qwen3moe", "qwen2moe", "deepseek2", "gpt-oss", "mixed", "uneven")


def resident(
    path: Path, slots: int | None, unit: int, pool: int, is_fixed: bool = True, threads: int = 2
) -> LoadSettings:
    plain = settings_for(path, slots, unit, threads)
    return replace(plain, routing=Routing.RESIDENT, pool_per_layer=pool, is_pool_fixed=is_fixed)


@pytest.mark.parametrize("unit", [1, 3, 16])
@pytest.mark.parametrize("slots", [35, 60, None])
@pytest.mark.parametrize("variant", _VARIANTS)
def test_same_logits_as_stock_under_the_same_rule(
    tiny_models: TinyModels, variant: str, slots: int | None, unit: int
) -> None:
    path = tiny_models(variant)
    with loaded(resident(path, slots, unit, pool=6)) as (backend, info):
        ours = run_ours(backend, prompt_tokens(40), 12)
        again = run_ours(backend, prompt_tokens(40), 12)
    assert {each.pool_per_layer for each in info.slot_classes} == {6}
    stock = run_resident_stock(path, info.unit_tokens, info.top_k, set(range(6)), 40, 12)
    assert_identical(ours, stock)
    assert_identical(again, stock)


@pytest.mark.parametrize("variant", ["qwen3moe", "gpt-oss"])
def test_a_pool_of_all_experts_is_exact(tiny_models: TinyModels, variant: str) -> None:
    path = tiny_models(variant)
    with loaded(resident(path, None, 16, pool=16)) as (backend, info):
        ours = run_ours(backend, prompt_tokens(40), 6)
        counters = backend.counters()
    assert_identical(ours, run_stock(path, info.unit_tokens, 2, 40, 6, 1).steps)
    assert counters.ranks_replaced == 0
    assert counters.gate_mass_used == pytest.approx(counters.gate_mass_wanted)


def test_slots_that_nobody_has_get_what_was_wanted(tiny_models: TinyModels) -> None:
    """Beside an answer, behind all other reads; ids and logits are none of its business."""
    path, found, runs = tiny_models("qwen3moe"), {}, {}
    for is_on in (True, False):
        settings = replace(resident(path, 60, 16, 6, is_fixed=False, threads=1), is_prefetch_on=is_on)
        with loaded(settings) as (backend, _):
            runs[is_on] = run_ours(backend, prompt_tokens(40), 40)
            experts, counters = backend.experts(), backend.counters()
        assert experts is not None
        found[is_on] = int(np.count_nonzero(experts.tiers != Tier.DISK))
        assert found[is_on] <= 60
        assert counters.read_errors == 0
    assert found[True] > found[False]
    assert_identical(runs[True], runs[False])


def test_only_rank_0_can_miss(tiny_models: TinyModels) -> None:
    path = tiny_models("qwen3moe")
    with loaded(resident(path, 35, 1, pool=6)) as (backend, info):
        before = backend.counters()
        run_ours(backend, prompt_tokens(40), 12)
        after = backend.counters()
    requests = after.expert_requests - before.expert_requests
    misses = after.expert_misses - before.expert_misses
    assert 0 < misses <= requests / info.top_k
    assert after.ranks_routed == requests  # units of one token: nothing is asked for twice
    assert 0 < after.ranks_replaced <= after.ranks_routed * (info.top_k - 1) / info.top_k
    assert 0 < after.gate_mass_used < after.gate_mass_wanted


def _learned_run(
    path: Path, target: Path, slots: int | None, unit: int, threads: int, hot: int
) -> RoutingTrace:
    settings = resident(path, slots, unit, pool=6, is_fixed=False, threads=threads)
    with loaded(replace(settings, trace_path=target, hot_per_layer=hot)) as (backend, _):
        run_ours(backend, prompt_tokens(40), 20)
        run_ours(backend, prompt_tokens(40, seed=2), 20)
    return load_trace(target)


def _picks(trace: RoutingTrace) -> dict[tuple[int, bool], list[int]]:
    """Picks per layer and kind, units put together."""
    total: dict[tuple[int, bool], np.ndarray] = {}
    for step in trace.steps:
        counts = total.setdefault((step.row, step.is_prefill), np.zeros(trace.n_expert, np.int64))
        counts[step.experts] += step.picks
    return {key: counts.tolist() for key, counts in total.items()}


def test_learning_pools_depend_on_nothing_physical(tiny_models: TinyModels, tmp_path: Path) -> None:
    path = tiny_models("qwen3moe")
    runs = [
        _picks(_learned_run(path, tmp_path / "run.trace", slots, unit, threads, hot))
        for slots, unit, threads, hot in ((35, 16, 2, 0), (60, 3, 1, 6), (None, 1, 3, 5), (35, 1, 1, 3))
    ]
    assert runs[0] == runs[1] == runs[2] == runs[3]


def test_learning_brings_the_router_what_it_wants(tiny_models: TinyModels) -> None:
    path = tiny_models("qwen3moe")
    with loaded(resident(path, 40, 16, pool=6, is_fixed=False)) as (backend, _):
        shares = []
        for _ in range(6):
            before = backend.counters()
            run_ours(backend, prompt_tokens(40), 4)
            after = backend.counters()
            routed = after.ranks_routed - before.ranks_routed
            shares.append((after.ranks_replaced - before.ranks_replaced) / routed)
    assert shares[-1] < shares[0]
