"""`plan` says beforehand what a load then does."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.config import LoadSettings
from tests.native.conftest import TinyModels
from tests.support.command_line import run_engine
from tests.support.device_server import serving_device
from tests.support.exact_runs import loaded, prompt_tokens, run_ours

_CONTEXT = 256


def planned(path: Path, *words: str) -> dict[str, Any]:
    printed = run_engine("plan", str(path), "--ctx", str(_CONTEXT), "--json", "--no-measure", *words)
    assert printed.code == 0, printed
    document: dict[str, Any] = json.loads(printed.out)
    return document


@pytest.mark.parametrize("routing", ["exact", "resident"])
@pytest.mark.parametrize("variant", ["mixed", "gpt-oss", "uneven"])
def test_slots_are_those_of_the_load(tiny_models: TinyModels, variant: str, routing: str) -> None:
    path = tiny_models(variant)
    document = planned(path, "--routing", routing, "--slots", "6", "--hot", "2")
    settings = LoadSettings(path, context_tokens=_CONTEXT, threads=1, pool_per_layer=6, hot_per_layer=2)
    with loaded(replace(settings, routing=type(settings.routing)(routing))) as (_, info):
        pass
    classes = document["classes"]
    assert [each["slot_bytes"] for each in classes] == [each.slot_bytes for each in info.slot_classes]
    assert [each["layers"] for each in classes] == [list(each.layers) for each in info.slot_classes]
    assert [each["is_repacked"] for each in classes] == [each.is_repacked for each in info.slot_classes]
    assert document["repack"]["reason"] in info.notes
    # with memory to spare both hold everything
    assert [each["slots"] for each in classes] == [each.slots for each in info.slot_classes]
    assert [each["pool_per_layer"] for each in classes] == [6] * len(classes)
    assert [each["hot_per_layer"] for each in classes] == [2] * len(classes)
    assert [each.hot_per_layer for each in info.slot_classes] == [2] * len(classes)
    assert document["unit_tokens"] == info.unit_tokens
    host = document["tiers"]["host"]
    assert (host["dense_bytes"], host["kv_bytes"]) == (info.dense_bytes, info.kv_bytes)


def test_a_tight_budget_is_kept_and_filled(tiny_models: TinyModels) -> None:
    path = tiny_models("qwen3moe", n_ff=1024, n_expert=64)
    roomy = planned(path, "--ram", "2GiB")
    all_bytes = roomy["tiers"]["host"]["slots_bytes"]
    budget = 2 * 1024**3 - roomy["tiers"]["host"]["left_over_bytes"] - all_bytes // 2
    document = planned(path, "--ram", str(budget))
    host, (only,) = document["tiers"]["host"], document["classes"]
    assert sum(host.values()) == budget
    assert 0 <= host["left_over_bytes"] < 4 * only["slot_bytes"]
    share = only["slots"] / (4 * 64)
    assert share == pytest.approx(0.5, abs=0.1)
    assert document["forecast"]["hit_rate"] == pytest.approx(share)
    assert document["forecast"]["basis"] == "uniform"
    expert_bytes = document["tiers"]["disk"]["expert_bytes"] / (4 * 64 - only["slots"])
    assert document["forecast"]["decode_read_bytes"] == pytest.approx(
        4 * 4 * (1 - share) * expert_bytes, rel=1e-3
    )


def test_a_profile_is_better_than_no_profile(tiny_models: TinyModels, tmp_path: Path) -> None:
    path = tiny_models("qwen3moe", n_ff=1024, n_expert=64)
    settings = LoadSettings(
        path, context_tokens=_CONTEXT, threads=1, slots_per_class=60, profile_dir=tmp_path
    )
    with loaded(settings) as (backend, _):
        run_ours(backend, prompt_tokens(30), 20)
    roomy = planned(path, "--ram", "2GiB", "--no-profile")
    left = roomy["tiers"]["host"]["left_over_bytes"] + roomy["tiers"]["host"]["slots_bytes"] // 2
    words = ("--ram", str(2 * 1024**3 - left))
    uniform = planned(path, *words, "--no-profile")["forecast"]
    known = planned(path, *words, "--profile-dir", str(tmp_path))["forecast"]
    assert (uniform["basis"], known["basis"]) == ("uniform", "profile")
    assert known["hit_rate"] > uniform["hit_rate"]
    assert known["decode_read_bytes"] < uniform["decode_read_bytes"]


def test_words_and_rates(tiny_models: TinyModels) -> None:
    printed = run_engine("plan", str(tiny_models("mixed")), "--threads", "1")
    assert printed.code == 0
    assert "| layers" in printed.out
    assert "no heat profile yet" in printed.out
    assert "GB/s" in printed.out
    assert "tokens/s" in printed.out


def test_a_dense_model_has_a_plan_too(tiny_models: TinyModels) -> None:
    document = planned(tiny_models("llama"))
    assert document["classes"] == []
    assert document["forecast"]["hit_rate"] == 1
    assert run_engine("plan", str(tiny_models("llama")), "--no-measure").code == 0


def test_a_budget_that_is_too_small_is_refused_with_what_is_needed(tiny_models: TinyModels) -> None:
    path = str(tiny_models("qwen3moe"))
    printed = run_engine("plan", path, "--ram", "1MiB", "--no-measure", "--json")
    assert printed.code == 2
    assert printed.lines[-1]["kind"] == "BudgetError"


def test_a_device_that_is_not_there_is_refused_by_name(tiny_models: TinyModels) -> None:
    words = ("--device", "CUDA7", "--vram", "8GiB", "--json")
    printed = run_engine("plan", str(tiny_models("qwen3moe")), *words)
    assert printed.code == 2
    assert "“CUDA7”" in printed.lines[-1]["fault"]


def test_bytes_on_a_device_are_those_of_the_load(tiny_models: TinyModels) -> None:
    path = tiny_models("qwen3moe")
    with serving_device() as server:
        document = planned(path, "--device", server.name, "--vram", "32MiB", "--hot", "2")
        settings = LoadSettings(path, context_tokens=_CONTEXT, devices=(server.name,), hot_per_layer=2)
        with loaded(replace(settings, vram_budget_bytes=32 << 20)) as (_, info):
            pass
    (there,) = document["tiers"]["vram"]["devices"]
    assert there["used_bytes"] == info.devices[0].used_bytes == document["tiers"]["vram"]["total_bytes"]
    assert there["budget_bytes"] == 32 << 20
    assert tuple(there["layers"]) == info.devices[0].layers == info.moe_layers
    assert there["link_bytes_per_second"] > 0


def test_a_busy_device_is_planned_without(tiny_models: TinyModels) -> None:
    path = tiny_models("qwen3moe")
    with serving_device() as server, loaded(LoadSettings(path, devices=(server.name,))):
        document = planned(path, "--device", server.name)
    assert document["tiers"]["vram"]["total_bytes"] == 0
    assert any("Planned without devices" in note for note in document["notes"])
