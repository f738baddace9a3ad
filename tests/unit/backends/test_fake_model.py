"""Settings of the simulated model: budgets decide the pool, and too small ones are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.backends.fake_model import fake_model_info
from engine.backends.fake_script import FakeScript
from engine.config import GIB, MIB, LoadSettings
from engine.errors import BudgetError, UsageError

# 1 GiB dense, 64 MiB compute, 1,000 tokens of 1 KiB; 10 layers of 32 experts of 1 MiB
SCRIPT = FakeScript(
    n_layer=10, n_expert=32, top_k=2, pool_per_layer=8, window_slots=20, expert_bytes=MIB, dense_bytes=GIB,
    compute_bytes=64 * MIB, kv_bytes_per_token=1024, context_tokens=1000,
)  # fmt: skip
FIXED_BYTES = GIB + 64 * MIB + 1000 * 1024


def settings(**changes: int) -> LoadSettings:
    return LoadSettings(Path("a.gguf"), **changes)  # type: ignore[arg-type] - numbers only


def test_automatic_budget_is_what_the_model_takes() -> None:
    info = fake_model_info(SCRIPT, settings())
    assert info.slots_bytes == (10 * 8 + 20) * MIB
    assert info.ram_budget_bytes == FIXED_BYTES + info.slots_bytes
    assert info.file_bytes == GIB + 10 * 32 * MIB
    assert info.moe_layers == tuple(range(10))


@pytest.mark.parametrize(("slots", "pool"), [(40, 2), (129, 10), (130, 11), (9999, 32)])
def test_budget_decides_the_pool(slots: int, pool: int) -> None:
    budget_bytes = FIXED_BYTES + slots * MIB
    info = fake_model_info(SCRIPT, settings(ram_budget_bytes=budget_bytes))
    (slot_class,) = info.slot_classes
    assert slot_class.pool_per_layer == pool
    assert info.dense_bytes + info.kv_bytes + info.compute_bytes + info.slots_bytes <= budget_bytes
    assert str(pool) in info.notes[-1]


def test_too_small_a_budget_is_refused_with_the_least() -> None:
    with pytest.raises(BudgetError, match="at least"):
        fake_model_info(SCRIPT, settings(ram_budget_bytes=FIXED_BYTES + 39 * MIB))


def test_requested_values_stand_beside_the_effective() -> None:
    info = fake_model_info(SCRIPT, settings(context_tokens=512, unit_tokens=16, threads=3))
    assert (info.context_tokens, info.requested_context_tokens) == (512, 512)
    assert (info.unit_tokens, info.threads, info.kv_bytes) == (16, 3, 512 * 1024)


def test_dense_models_have_no_experts() -> None:
    info = fake_model_info(FakeScript(n_expert=0), settings())
    assert (info.moe_layers, info.slot_classes, info.slots_bytes, info.top_k) == ((), (), 0, 0)


def test_impossible_shapes_are_refused() -> None:
    with pytest.raises(UsageError, match="top-k 9"):
        FakeScript(top_k=9, pool_per_layer=8)
    with pytest.raises(UsageError, match="at least one slot"):
        FakeScript(window_slots=0)
