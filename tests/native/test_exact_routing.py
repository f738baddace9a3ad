"""Exact routing from slots is bit-identical to stock llama.cpp at any slots, unit, threads and prefetch."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.backends.base import CancelToken
from engine.config import Repack
from tests.native.conftest import TinyModels
from tests.support.exact_runs import (
    MOE_VARIANTS,
    assert_identical,
    loaded,
    prompt_tokens,
    run_ours,
    run_stock,
    settings_for,
)

N_PROMPT, N_DECODE, SEED = 70, 32, 1


@pytest.mark.parametrize("unit", [1, 3, 16, 64])
@pytest.mark.parametrize("slots", ["smallest", "few", "all"])
@pytest.mark.parametrize("variant", MOE_VARIANTS)
def test_bit_identical_to_stock(tiny_models: TinyModels, variant: str, slots: str, unit: int) -> None:
    path = tiny_models(variant)
    n_slots = {"smallest": 1, "few": 11, "all": None}[slots]
    with loaded(settings_for(path, n_slots, unit)) as (backend, info):
        ours = run_ours(backend, prompt_tokens(N_PROMPT, SEED), N_DECODE)
        again = run_ours(backend, prompt_tokens(N_PROMPT, SEED), N_DECODE)
    stock = run_stock(path, info.unit_tokens, 2, N_PROMPT, N_DECODE, SEED)
    assert_identical(ours, stock.steps)
    assert_identical(again, stock.steps)  # warm slots, promoted pools


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    variant=st.sampled_from(MOE_VARIANTS),
    slots_and_hot=st.tuples(st.integers(1, 70), st.sampled_from([None, 0, 1, 2, 5, 16])),
    unit=st.sampled_from([1, 2, 3, 5, 16, 33, 64]),
    threads=st.integers(1, 3),
    is_prefetch_on=st.booleans(),
    n_prompt=st.sampled_from([1, 2, 15, 16, 17, 31, 33, 65]),
    seed=st.integers(1, 3),
)
def test_any_setting_is_bit_identical(
    tiny_models: TinyModels,
    variant: str,
    slots_and_hot: tuple[int, int | None],
    unit: int,
    threads: int,
    is_prefetch_on: bool,
    n_prompt: int,
    seed: int,
) -> None:
    path = tiny_models(variant)
    n_slots, hot = slots_and_hot
    load_settings = replace(settings_for(path, n_slots, unit, threads, is_prefetch_on), hot_per_layer=hot)
    with loaded(load_settings) as (backend, info):
        ours = run_ours(backend, prompt_tokens(n_prompt, seed), 9)
    assert_identical(ours, run_stock(path, info.unit_tokens, threads, n_prompt, 9, seed).steps)


def test_eviction_paths_really_ran(tiny_models: TinyModels) -> None:
    with loaded(settings_for(tiny_models("qwen3moe"), 20, 5)) as (backend, _):
        run_ours(backend, prompt_tokens(N_PROMPT), N_DECODE)
        counters = backend.counters()
    assert counters.evictions > 100
    assert counters.expert_misses > 100
    assert counters.read_errors == 0


def test_streaming_really_ran(tiny_models: TinyModels) -> None:
    with loaded(settings_for(tiny_models("qwen3moe"), 40, 64)) as (backend, _):
        run_ours(backend, prompt_tokens(64), 0)
        counters = backend.counters()
    assert counters.expert_streamed > 0
    assert counters.bytes_by_reason["stream"] > 0


def test_dense_model_simply_works(tiny_models: TinyModels) -> None:
    path = tiny_models("llama")
    with loaded(settings_for(path, None, 16, repack=Repack.AUTO)) as (backend, info):
        ours = run_ours(backend, prompt_tokens(N_PROMPT, SEED), 8)
        assert backend.experts() is None
    assert info.slot_classes == ()
    assert_identical(ours, run_stock(path, 16, 2, N_PROMPT, 8, SEED, is_repacked=True).steps)


def test_prefix_reuse_gives_the_same_logits_as_a_fresh_prompt(tiny_models: TinyModels) -> None:
    path = tiny_models("qwen3moe")
    prompt = prompt_tokens(40)
    with loaded(settings_for(path, 12, 1)) as (backend, _):
        run_ours(backend, [*prompt[:30], 7, 8, 9], 4)
        assert backend.keep_prefix(30) == 30
        backend.evaluate(prompt[30:], 30, True, CancelToken())
        reused = backend.logits()
        fresh = run_ours(backend, prompt, 0)[0]
    assert_identical((reused,), (fresh,))
