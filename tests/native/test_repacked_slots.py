"""Repacked slots are bit-identical to stock llama.cpp with repacking, whatever the slots, unit or threads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from gguf import GGMLQuantizationType
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.backends.base import CancelToken
from engine.backends.llama_cpp import LlamaCppBackend
from engine.config import Repack, Routing
from engine.errors import Cancelled
from engine.events import LoadPhase
from engine.hardware.memory import private_bytes
from engine.native.repack import ROW_GROUP, repack_entries, repacked_form
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

OTHER_TYPES = {
    "Q2_K": {"n_ff": 256, "expert_type": "Q2_K", "dense_type": "Q4_K"},
    "Q5_K": {"n_ff": 256, "expert_type": "Q5_K"},
    "IQ4_NL": {"expert_type": "IQ4_NL", "dense_type": "IQ4_NL"},
    "Q8_0": {"expert_type": "Q8_0", "dense_type": "F16"},
    # the 100 rows of gate and up are no multiple of 8: plain, while dense weights are repacked
    "rows": {"expert_type": "Q4_0", "down_types": ("F16",), "n_ff": 100},
}
N_PROMPT, N_DECODE, SEED = 70, 32, 1

pytestmark = pytest.mark.skipif(
    repacked_form(int(GGMLQuantizationType.Q4_0), 256, 128) is None,
    reason="llama.cpp has no repacked kernels for this processor",
)


@pytest.mark.parametrize("unit", [1, 16])
@pytest.mark.parametrize("slots", ["smallest", "few", "all"])
@pytest.mark.parametrize("variant", MOE_VARIANTS)
def test_bit_identical_to_stock(tiny_models: TinyModels, variant: str, slots: str, unit: int) -> None:
    path = tiny_models(variant)
    n_slots = {"smallest": 1, "few": 11, "all": None}[slots]
    with loaded(settings_for(path, n_slots, unit, 1, repack=Repack.ON)) as (backend, info):
        ours = run_ours(backend, prompt_tokens(N_PROMPT, SEED), N_DECODE)
        again = run_ours(backend, prompt_tokens(N_PROMPT, SEED), N_DECODE)
    stock = run_stock(path, info.unit_tokens, 1, N_PROMPT, N_DECODE, SEED, is_repacked=True)
    assert_identical(ours, stock.steps)
    assert_identical(again, stock.steps)  # warm slots, promoted pools


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    variant=st.sampled_from(MOE_VARIANTS),
    n_slots=st.integers(1, 70),
    unit=st.sampled_from([1, 2, 3, 5, 16, 33, 64]),
    threads=st.integers(1, 3),
    is_prefetch_on=st.booleans(),
    n_prompt=st.sampled_from([1, 2, 15, 16, 17, 31, 33, 65]),
    seed=st.integers(1, 3),
    hot=st.sampled_from([None, 0, 2]),
)
def test_any_setting_is_bit_identical(
    tiny_models: TinyModels,
    *,
    variant: str,
    n_slots: int,
    unit: int,
    threads: int,
    is_prefetch_on: bool,
    n_prompt: int,
    seed: int,
    hot: int | None,
) -> None:
    path = tiny_models(variant)
    wanted = settings_for(path, n_slots, unit, threads, is_prefetch_on, Repack.ON)
    with loaded(replace(wanted, hot_per_layer=hot)) as (backend, info):
        ours = run_ours(backend, prompt_tokens(n_prompt, seed), 6)
    assert_identical(ours, run_stock(path, info.unit_tokens, threads, n_prompt, 6, seed, True).steps)


@pytest.mark.parametrize("kind", OTHER_TYPES)
def test_other_types_are_bit_identical(tiny_models: TinyModels, kind: str) -> None:
    path = tiny_models("qwen3moe", **OTHER_TYPES[kind])
    with loaded(settings_for(path, 9, 4, 1, repack=Repack.ON)) as (backend, info):
        ours = run_ours(backend, prompt_tokens(20, SEED), 8)
    assert_identical(ours, run_stock(path, info.unit_tokens, 1, 20, 8, SEED, True).steps)


def test_a_single_slot_of_a_single_expert_per_token(tiny_models: TinyModels) -> None:
    path = tiny_models("qwen3moe", top_k=1)
    with loaded(settings_for(path, 1, 1, 1, repack=Repack.ON)) as (backend, info):
        assert [c.slots for c in info.slot_classes] == [1]
        ours = run_ours(backend, prompt_tokens(9, SEED), 4)
    assert_identical(ours, run_stock(path, 1, 1, 9, 4, SEED, True).steps)


def test_repacking_changes_the_sums(tiny_models: TinyModels) -> None:
    """Else the tests above would prove nothing."""
    path = tiny_models("qwen3moe")
    plain = run_stock(path, 4, 1, 20, 0, SEED).steps[0]
    repacked = run_stock(path, 4, 1, 20, 0, SEED, True).steps[0]
    assert not np.array_equal(plain, repacked)
    assert np.corrcoef(plain, repacked)[0, 1] > 0.99


def test_eviction_and_streaming_really_ran(tiny_models: TinyModels) -> None:
    with loaded(settings_for(tiny_models("qwen3moe"), 40, 64, 1, repack=Repack.ON)) as (backend, info):
        run_ours(backend, prompt_tokens(N_PROMPT), N_DECODE)
        counters = backend.counters()
    assert all(c.is_repacked for c in info.slot_classes)
    assert counters.evictions > 100
    assert counters.bytes_by_reason["stream"] > 0
    assert counters.read_errors == 0


def test_automatic_repacks_what_is_all_in_memory_and_says_so(tiny_models: TinyModels) -> None:
    path = tiny_models("qwen3moe")
    with loaded(settings_for(path, None, 4, 1, repack=Repack.AUTO)) as (backend, info):
        ours = run_ours(backend, prompt_tokens(20, SEED), 4)
    assert [c.is_repacked for c in info.slot_classes] == [True]
    assert any("all experts fit into memory" in note and "repacked" in note for note in info.notes)
    assert_identical(ours, run_stock(path, 4, 1, 20, 4, SEED, True).steps)


def test_automatic_stays_plain_where_experts_must_be_read(tiny_models: TinyModels) -> None:
    path = tiny_models("qwen3moe")
    with loaded(settings_for(path, 24, 4, 1, repack=Repack.AUTO)) as (backend, info):
        ours = run_ours(backend, prompt_tokens(20, SEED), 4)
    assert [c.is_repacked for c in info.slot_classes] == [False]
    assert any("not repacked" in note for note in info.notes)
    assert_identical(ours, run_stock(path, info.unit_tokens, 1, 20, 4, SEED).steps)


def test_types_without_a_faster_form_are_named(tiny_models: TinyModels) -> None:
    with loaded(settings_for(tiny_models("mixed"), None, 4, 1, repack=Repack.ON)) as (_, info):
        assert any("Q5_K, Q6_K, Q8_0" in note for note in info.notes)
    path = tiny_models("qwen3moe", expert_type="Q8_0", dense_type="F16")
    with loaded(settings_for(path, None, 4, 1, repack=Repack.ON)) as (_, info):
        assert not any(c.is_repacked for c in info.slot_classes)
        assert any("none has a faster form" in note for note in info.notes)


def test_a_warm_up_and_a_hot_zone_move_repacked_slots(tiny_models: TinyModels) -> None:
    path = tiny_models("gpt-oss")
    wanted = replace(settings_for(path, 30, 4, 1, repack=Repack.ON), hot_per_layer=3)
    with loaded(wanted) as (backend, info):
        run_ours(backend, prompt_tokens(40, 2), 6)
        backend.warm_up(lambda _: None, CancelToken())
        ours = run_ours(backend, prompt_tokens(20, SEED), 8)
    assert any(c.hot_per_layer for c in info.slot_classes)
    assert_identical(ours, run_stock(path, info.unit_tokens, 1, 20, 8, SEED, True).steps)


def test_resident_routing_in_repacked_slots(tiny_models: TinyModels) -> None:
    """Another unit changes nothing: the pools' experts are repacked, too."""
    path = tiny_models("qwen3moe")
    runs = []
    for unit in (1, 5):
        wanted = replace(
            settings_for(path, 40, unit, 1, repack=Repack.ON), routing=Routing.RESIDENT, pool_per_layer=8
        )
        with loaded(wanted) as (backend, _):
            runs.append(run_ours(backend, prompt_tokens(20, SEED), 6))
    for one, other in zip(*runs, strict=True):
        assert np.allclose(one, other, atol=1e-4)


def test_unloading_gives_all_memory_back(tiny_models: TinyModels) -> None:
    path = tiny_models("qwen3moe", n_expert=64)
    wanted = settings_for(path, None, 4, 1, repack=Repack.ON)
    for _ in range(2):
        with loaded(wanted) as (backend, _info):
            run_ours(backend, prompt_tokens(20, SEED), 1)
    before = private_bytes()
    for _ in range(4):
        with loaded(wanted) as (backend, _info):
            run_ours(backend, prompt_tokens(20, SEED), 1)
    assert private_bytes() - before < path.stat().st_size / 2  # four leaks would be four files


def test_stop_while_dense_weights_are_repacked(tiny_models: TinyModels) -> None:
    backend, token = LlamaCppBackend(), CancelToken()

    def stop(report: object) -> None:
        if getattr(report, "phase", None) is LoadPhase.DENSE_READ:
            token.cancel()

    with pytest.raises(Cancelled):
        backend.load(settings_for(tiny_models("qwen3moe"), 9, 4, 1, repack=Repack.ON), stop, token)
    backend.unload()


def test_parts_of_a_matrix_are_repacked_like_the_whole() -> None:
    columns, rows = 256, 40
    whole = repacked_form(int(GGMLQuantizationType.Q4_0), columns, rows)
    assert whole is not None
    source = np.random.default_rng(5).integers(0, 256, whole.size_bytes, dtype=np.uint8)
    at_once, in_parts = np.zeros_like(source), np.zeros_like(source)
    whole.fill(at_once.ctypes.data, source.ctypes.data)
    row_bytes = whole.size_bytes // rows
    for first in range(0, rows, ROW_GROUP):
        part = repacked_form(int(GGMLQuantizationType.Q4_0), columns, min(ROW_GROUP, rows - first), rows)
        assert part is not None
        assert part.kernels == whole.kernels
        part.fill(in_parts.ctypes.data + first * row_bytes, source.ctypes.data + first * row_bytes)
    assert np.array_equal(at_once, in_parts)
    assert not np.array_equal(at_once, source)


def test_entries_are_found() -> None:
    assert repack_entries() is not None
