"""The hot zone: locked RAM whose experts nobody evicts; where they are changes no answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.backends.base import CancelToken
from engine.config import LoadSettings, Routing
from engine.native.memory import HugeBuffer
from engine.offload import locked_memory
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


def hot_settings(path: Path, hot: int | None, slots: int | None = 44) -> LoadSettings:
    return replace(settings_for(path, slots, 4, threads=1), hot_per_layer=hot)


def locked_now_bytes() -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmLck"))


@pytest.mark.parametrize("variant", ["qwen3moe", "gpt-oss", "uneven", "mixed"])
def test_experts_move_and_answers_stay(tiny_models: TinyModels, variant: str) -> None:
    path = tiny_models(variant)
    with loaded(hot_settings(path, 3)) as (backend, info):
        runs = [run_ours(backend, prompt_tokens(40), 24) for _ in range(3)]
        counters, experts = backend.counters(), backend.experts()
    assert experts is not None
    assert {each.hot_per_layer for each in info.slot_classes} == {3}
    assert (experts.tiers == Tier.HOT).sum(axis=1).tolist() == [3] * len(info.moe_layers)
    assert counters.requests_by_tier["hot"] > 0
    stock = run_stock(path, info.unit_tokens, 1, 40, 24, 1)
    for steps in runs:
        assert_identical(steps, stock.steps)


def test_the_hot_ones_are_those_used_most(tiny_models: TinyModels) -> None:
    with loaded(hot_settings(tiny_models("qwen3moe"), 2)) as (backend, _):
        for _ in range(4):
            run_ours(backend, prompt_tokens(60), 24)
        experts = backend.experts()
    assert experts is not None
    uses = (experts.prefill_uses + experts.decode_uses).astype(float)
    hot = experts.tiers == Tier.HOT
    for row_uses, row_hot in zip(uses, hot, strict=True):
        assert row_uses[row_hot].mean() > 1.2 * row_uses[~row_hot].mean()


@pytest.mark.parametrize("slots", [44, None])
def test_without_a_zone_nobody_is_hot(tiny_models: TinyModels, slots: int | None) -> None:
    with loaded(hot_settings(tiny_models("qwen3moe"), 0, slots)) as (backend, info):
        run_ours(backend, prompt_tokens(40), 24)
        counters = backend.counters()
    assert counters.requests_by_tier["hot"] == info.locked_bytes == 0


def test_with_everything_resident_the_most_used_are_labelled(tiny_models: TinyModels) -> None:
    with loaded(hot_settings(tiny_models("qwen3moe"), None, None)) as (backend, info):
        run_ours(backend, prompt_tokens(60), 24)
        experts = backend.experts()
    assert experts is not None
    uses = experts.prefill_uses + experts.decode_uses
    least_hot = np.where(experts.tiers == Tier.HOT, uses, uses.max()).min(axis=1)
    most_other = np.where(experts.tiers == Tier.HOT, 0, uses).max(axis=1)
    assert (experts.tiers == Tier.HOT).sum(axis=1).tolist() == [5] * len(info.moe_layers)
    assert (least_hot * 1.25 >= most_other).all()
    assert info.locked_bytes == 0


def test_members_are_hot_with_resident_routing(tiny_models: TinyModels) -> None:
    settings = replace(hot_settings(tiny_models("qwen3moe"), 3), routing=Routing.RESIDENT, pool_per_layer=6)
    with loaded(settings) as (backend, _):
        for seed in range(1, 5):
            run_ours(backend, prompt_tokens(40, seed), 12)
        experts = backend.experts()
        backend.warm_up(lambda _: None, CancelToken())
        warm = backend.experts()
    assert experts is not None
    assert warm is not None
    for sample in (experts, warm):
        counts = {tier: (sample.tiers == tier).sum(axis=1) for tier in Tier}
        assert (counts[Tier.HOT] <= 3).all()
        assert (counts[Tier.HOT] + counts[Tier.HOST_POOL] == 6).all()
    assert ((warm.tiers == Tier.HOT).sum(axis=1) == 3).all()


def test_the_zone_is_locked_while_the_model_is_loaded(tiny_models: TinyModels) -> None:
    before = locked_now_bytes()
    with loaded(hot_settings(tiny_models("qwen3moe"), 3)) as (backend, info):
        run_ours(backend, prompt_tokens(20), 4)
        assert locked_now_bytes() - before == info.locked_bytes
        (only,) = info.slot_classes
        assert info.locked_bytes >= 3 * len(info.moe_layers) * only.slot_bytes
        assert not any("swap" in note for note in info.notes)
    assert locked_now_bytes() == before


def test_a_limit_that_forbids_it_is_named(tiny_models: TinyModels, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locked_memory, "lockable_bytes", lambda: 4096)
    before = locked_now_bytes()
    with loaded(hot_settings(tiny_models("qwen3moe"), 3)) as (backend, info):
        run_ours(backend, prompt_tokens(20), 4)
        assert locked_now_bytes() == before
    assert info.locked_bytes == 0
    (note,) = (note for note in info.notes if "swap" in note)
    assert "this user may lock 4 KiB" in note
    assert "/etc/security/limits.conf" in note


def test_a_system_that_refuses_is_named(tiny_models: TinyModels, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []
    lock = HugeBuffer.lock

    def refusing(buffer: HugeBuffer, size: int) -> None:
        tries.append(size)
        if len(tries) == 2:
            raise OSError(12, "Cannot allocate memory")
        lock(buffer, size)

    monkeypatch.setattr(HugeBuffer, "lock", refusing)
    before = locked_now_bytes()
    with loaded(hot_settings(tiny_models("qwen3moe"), 3)) as (_, info):
        assert locked_now_bytes() == before
    assert info.locked_bytes == 0
    assert any("Cannot allocate memory" in note for note in info.notes)
