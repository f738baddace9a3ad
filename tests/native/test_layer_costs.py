"""Waits, work and computation per layer, and where experts were when they were asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.backends.llama_cpp import LlamaCppBackend
from engine.config import Routing
from engine.events import Counters, LayersSampled
from tests.native.conftest import TinyModels
from tests.support.exact_runs import loaded, prompt_tokens, run_ours, settings_for


def figures(backend: LlamaCppBackend) -> tuple[Counters, LayersSampled]:
    counters, layers = backend.counters(), backend.layers()
    assert layers is not None
    return counters, layers


@pytest.mark.parametrize("routing", Routing)
@pytest.mark.parametrize("slots", [35, None])
@pytest.mark.parametrize("variant", ["qwen3moe", "mixed"])
def test_layers_add_up_to_the_counters(
    tiny_models: TinyModels, variant: str, slots: int | None, routing: Routing
) -> None:
    settings = replace(settings_for(tiny_models(variant), slots, 16, threads=1), routing=routing)
    with loaded(settings) as (backend, info):
        run_ours(backend, prompt_tokens(40), 20)
        counters, layers = figures(backend)
    assert layers.moe_layers == info.moe_layers
    waits = (counters.disk_wait_prefill_ns, counters.disk_wait_decode_ns)
    assert tuple(map(sum, layers.disk_wait_ns)) == waits
    assert sum(map(sum, layers.own_ns)) == counters.callback_ns
    assert sum(map(sum, layers.misses)) == counters.expert_misses
    assert sum(map(sum, layers.transfer_wait_ns)) == counters.transfer_wait_ns == 0
    assert sum(counters.requests_by_tier.values()) == counters.expert_requests
    for phase, pass_ns in enumerate((counters.prefill_ns, counters.decode_ns)):
        parts = (layers.disk_wait_ns, layers.own_ns, layers.compute_ns)
        assert all(min(part[phase]) >= 0 for part in parts)
        assert min(layers.compute_ns[phase]) > 0
        assert sum(sum(part[phase]) for part in parts) < pass_ns  # some comes before the first routing


def test_cold_experts_come_from_the_drive_and_kept_ones_from_their_pool(tiny_models: TinyModels) -> None:
    settings = replace(settings_for(tiny_models("qwen3moe"), None, 1, threads=1), hot_per_layer=0)
    with loaded(settings) as (backend, info):
        run_ours(backend, prompt_tokens(1), 0)
        cold, layers = figures(backend)
        for _ in range(3):
            run_ours(backend, prompt_tokens(40), 12)
        counters, _ = figures(backend)
        run_ours(backend, prompt_tokens(40), 12)
        warm, _ = figures(backend)
    n_layer, top_k = len(info.moe_layers), info.top_k
    # the last layer computes only tokens whose logits are wanted
    asked = top_k * (39 * (n_layer - 1) + 1 * n_layer + 12 * n_layer)
    assert cold.requests_by_tier["disk"] == cold.expert_requests == n_layer * top_k
    assert layers.misses[0] == (top_k,) * n_layer
    changed = {tier: warm.requests_by_tier[tier] - count for tier, count in counters.requests_by_tier.items()}
    assert changed == {"disk": 0, "host_window": 0, "host_pool": asked, "hot": 0, "vram": 0}


def test_dense_models_have_no_layers(tiny_models: TinyModels) -> None:
    with loaded(settings_for(tiny_models("llama"), None, 16, threads=1)) as (backend, _):
        run_ours(backend, prompt_tokens(4), 1)
        assert backend.layers() is None
