"""Waits, work and computation per layer, and where experts were when they were asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter_ns

import pytest

from engine.backends.base import CancelToken
from engine.backends.llama_cpp import LlamaCppBackend
from engine.config import Routing
from engine.events import Counters, LayersSampled
from engine.offload.read_job import ReadJob
from engine.offload.reader_pool import ReaderPool
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


@pytest.mark.parametrize("routing", Routing)
@pytest.mark.parametrize("variant", ["qwen3moe", "mixed", "gemma4"])
def test_all_a_pass_waits_for_the_drive_is_some_layers_wait(
    tiny_models: TinyModels, monkeypatch: pytest.MonkeyPatch, variant: str, routing: Routing
) -> None:
    """Also what a pass with resident routing waits for its pools' members before it begins."""
    waits_ns: list[int] = []
    wait = ReaderPool.wait

    def timed(readers: ReaderPool, jobs: Sequence[ReadJob], check: Callable[[], None]) -> None:
        started_ns = perf_counter_ns()
        wait(readers, jobs, check)
        waits_ns.append(perf_counter_ns() - started_ns)

    path = tiny_models(variant, **({"n_vocab": 20_000} if variant == "gemma4" else {}))
    settings = replace(
        settings_for(path, 35, 16, threads=1), routing=routing, pool_per_layer=6, hot_per_layer=0
    )
    with loaded(settings) as (backend, _):
        monkeypatch.setattr(ReaderPool, "wait", timed)
        token, prompt, parts = CancelToken(), prompt_tokens(40), []
        backend.evaluate(prompt, 0, True, token)
        parts.append(sum(waits_ns))
        for index in range(10):  # pools are elected before the first and the ninth, and read
            backend.evaluate([int(backend.logits().argmax())], 40 + index, False, token)
        parts.append(sum(waits_ns) - parts[0])
        counters, layers = figures(backend)
        row_wait_ns = [counters.disk_wait_prefill_ns, counters.disk_wait_decode_ns]
    for phase, waited_ns in enumerate(parts):
        layers_ns = sum(layers.disk_wait_ns[phase])
        row_wait_ns[phase] -= layers_ns
        assert (row_wait_ns[phase] > 0) is (variant == "gemma4")
        assert waited_ns > 0
        # each wait is measured around the readers' own, by some microseconds
        assert waited_ns <= layers_ns + row_wait_ns[phase] <= 1.05 * waited_ns + 1e5 * len(waits_ns)
    promoted = counters.bytes_by_reason.get("promote", 0)
    assert (promoted > 0) is (routing is Routing.RESIDENT)


def test_cold_experts_come_from_the_drive_and_kept_ones_from_their_pool(tiny_models: TinyModels) -> None:
    plain = settings_for(tiny_models("qwen3moe"), None, 1, threads=1, is_prefetch_on=False)
    settings = replace(plain, hot_per_layer=0)
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
