"""A warm-up of real models: it reads what it says and changes no exact answer."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.backends.base import CancelToken, WarmUpReport, WarmUpResult
from engine.backends.llama_cpp import LlamaCppBackend
from engine.config import LoadSettings, Routing
from engine.errors import Cancelled
from engine.placement.heat_profile import ProfileFile
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

_N_DECODE = 8


def warm_up(backend: LlamaCppBackend) -> WarmUpResult:
    return backend.warm_up(lambda _: None, CancelToken())


def resident(settings: LoadSettings, pool: int) -> LoadSettings:
    return replace(settings, routing=Routing.RESIDENT, pool_per_layer=pool)


@pytest.mark.parametrize("slots", [5, 20, None])
@pytest.mark.parametrize("variant", ["qwen3moe", "gpt-oss", "mixed", "uneven"])
def test_exact_answers_are_those_of_stock(tiny_models: TinyModels, variant: str, slots: int | None) -> None:
    path = tiny_models(variant)
    with loaded(settings_for(path, slots, 16, threads=1)) as (backend, info):
        warm_up(backend)
        first = run_ours(backend, prompt_tokens(40), _N_DECODE)
        warm_up(backend)
        again = run_ours(backend, prompt_tokens(40), _N_DECODE)
    stock = run_stock(path, info.unit_tokens, 1, 40, _N_DECODE, 1)
    assert_identical(first, stock.steps)
    assert_identical(again, stock.steps)


def test_the_cache_is_not_touched(tiny_models: TinyModels) -> None:
    path = tiny_models("qwen3moe")
    with loaded(settings_for(path, 12, 1, threads=1)) as (backend, _):
        whole = run_ours(backend, prompt_tokens(30), 0)
        backend.keep_prefix(0)
        backend.evaluate(prompt_tokens(30)[:20], 0, True, CancelToken())
        logits = backend.logits()
        warm_up(backend)
        assert backend.keep_prefix(20) == 20
        assert_identical((backend.logits(),), (logits,))
        backend.evaluate(prompt_tokens(30)[20:], 20, True, CancelToken())
        assert_identical((backend.logits(),), whole)


def test_all_slots_hold_the_experts_asked_for_most(tiny_models: TinyModels) -> None:
    with loaded(settings_for(tiny_models("qwen3moe"), 20, 4, threads=1)) as (backend, info):
        cold, read = warm_up(backend), backend.counters()
        run_ours(backend, prompt_tokens(60), 20)
        before = backend.counters()
        warm = warm_up(backend)
        after, experts = backend.counters(), backend.experts()
        assert warm_up(backend).experts_loaded == 0
    assert cold.experts_loaded == 20
    assert cold.expected_hit_rate_before == 0
    # nothing is known yet: 20 of 64 alike experts
    assert cold.expected_hit_rate_after == pytest.approx(20 / 64)
    assert warm.expected_hit_rate_after >= warm.expected_hit_rate_before
    assert cold.bytes_read == read.bytes_by_reason["warm_up"] >= 20 * info.expert_bytes
    assert after.passes == before.passes
    assert experts is not None
    is_here = experts.tiers != Tier.DISK
    assert np.count_nonzero(is_here) == 20
    uses = experts.prefill_uses + experts.decode_uses
    assert uses[is_here].mean() > 1.2 * uses[~is_here].mean()


def test_all_experts_if_they_all_fit(tiny_models: TinyModels) -> None:
    with loaded(settings_for(tiny_models("mixed"), None, 16, threads=1)) as (backend, _):
        result = warm_up(backend)
        run_ours(backend, prompt_tokens(40), 4)
        assert backend.counters().expert_misses == 0
    assert (result.experts_loaded, result.expected_hit_rate_after) == (4 * 16, 1.0)


def test_resident_pools_take_in_what_the_router_wants(tiny_models: TinyModels) -> None:
    settings = resident(settings_for(tiny_models("qwen3moe"), 40, 16, threads=1), 6)
    with loaded(settings) as (backend, _):
        run_ours(backend, prompt_tokens(40), 4)
        before = backend.counters()
        result = warm_up(backend)
        run_ours(backend, prompt_tokens(40), 4)
        after = backend.counters()
    assert result.experts_loaded > 0
    assert result.expected_hit_rate_after > result.expected_hit_rate_before
    replaced = after.ranks_replaced - before.ranks_replaced
    assert replaced < before.ranks_replaced * 0.8


def test_fixed_pools_stay_as_they_are(tiny_models: TinyModels) -> None:
    settings = replace(
        resident(settings_for(tiny_models("qwen3moe"), 40, 16, threads=1), 6), is_pool_fixed=True
    )
    with loaded(settings) as (backend, _):
        first = run_ours(backend, prompt_tokens(40), 4)
        warm_up(backend)
        again = run_ours(backend, prompt_tokens(40), 4)
    assert_identical(again, first)


@pytest.mark.parametrize("is_resident", [False, True])
def test_cancelled_in_the_middle_it_ends_at_once_and_the_next_answer_is_right(
    tiny_models: TinyModels, is_resident: bool
) -> None:
    path = tiny_models("qwen3moe")
    settings = settings_for(path, 40, 16, threads=1)
    token, seen = CancelToken(), list[WarmUpReport]()

    def stop(report: WarmUpReport) -> None:
        seen.append(report)
        if report.done_experts:
            token.cancel()

    with loaded(resident(settings, 6) if is_resident else settings) as (backend, info):
        if is_resident:  # something to learn, so that there is something to load
            run_ours(backend, prompt_tokens(40, seed=2), 2)
        started = time.perf_counter()
        with pytest.raises(Cancelled):
            backend.warm_up(stop, token)
        assert time.perf_counter() - started < 1
        ours = run_ours(backend, prompt_tokens(40), _N_DECODE)
        assert warm_up(backend).expected_hit_rate_after > 0
    assert 0 < seen[-1].done_experts < seen[-1].total_experts
    if not is_resident:
        assert_identical(ours, run_stock(path, info.unit_tokens, 1, 40, _N_DECODE, 1).steps)


def test_a_dense_model_has_nothing_to_do(tiny_models: TinyModels) -> None:
    with loaded(settings_for(tiny_models("llama"), None, 16, threads=1)) as (backend, _):
        result = warm_up(backend)
    assert (result.experts_loaded, result.bytes_read, result.expected_hit_rate_after) == (0, 0, 1.0)


def test_it_saves_the_profile_and_the_next_load_starts_from_it(
    tiny_models: TinyModels, tmp_path: Path
) -> None:
    settings = replace(settings_for(tiny_models("qwen3moe"), 20, 4, threads=1), profile_dir=tmp_path)
    with loaded(settings) as (backend, _):
        assert not warm_up(backend).is_profile_saved  # nothing was learned yet
        run_ours(backend, prompt_tokens(60), 20)
        assert warm_up(backend).is_profile_saved
    (path,) = tmp_path.iterdir()
    profile = ProfileFile(tmp_path, path.stem).load()
    with loaded(settings) as (backend, _):
        warm_up(backend)
        found = backend.experts()
    assert profile is not None
    assert profile.use is not None
    assert found is not None
    best = np.sort(profile.use.chance.ravel())[-20:]
    assert np.array_equal(found.tiers != Tier.DISK, profile.use.chance >= best[0])


def test_reads_ahead_that_are_still_in_the_books_are_taken_out_first(tiny_models: TinyModels) -> None:
    path = tiny_models("qwen3moe")
    with loaded(settings_for(path, 40, 64, threads=1)) as (backend, info):
        for _ in range(3):
            run_ours(backend, prompt_tokens(64), 2)
            warm_up(backend)
        assert backend.counters().expert_streamed > 0
        ours = run_ours(backend, prompt_tokens(64), _N_DECODE)
    assert_identical(ours, run_stock(path, info.unit_tokens, 1, 64, _N_DECODE, 1).steps)
