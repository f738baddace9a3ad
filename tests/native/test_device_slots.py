"""Slots in a device's memory: bit-identical to stock llama.cpp with all layers on that device."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from engine.backends import device_loading
from engine.backends.base import CancelToken
from engine.config import LoadSettings, Repack, Routing
from engine.errors import BudgetError, Cancelled, DeviceError, EngineError, UsageError
from engine.gguf.expert_layout import expert_layout
from engine.gguf.reader import read_model
from engine.native.device_share import DeviceShare
from engine.native.devices import Device, DeviceMemory, DeviceSet
from engine.native.model import NativeModel
from engine.offload import device_arena
from engine.offload.device_arena import DeviceArena
from engine.offload.device_slots import DeviceClass, DeviceRow
from engine.offload.slot_arena import SlotArena
from engine.placement.slot_table import SlotTable
from engine.placement.tier import Tier
from tests.native.conftest import TinyModels
from tests.support.device_runs import run_stock_on_device
from tests.support.device_server import DeviceServer, serving_device
from tests.support.exact_runs import (
    Logits,
    assert_identical,
    loaded,
    prompt_tokens,
    run_ours,
    settings_for,
)
from tests.support.resident_reference import run_resident_stock

N_PROMPT, N_DECODE = 40, 8
N_EXPERT = 16  # of every tiny model


def stock(path: Path, device: str, unit: int) -> tuple[Logits, ...]:
    return run_stock_on_device(path, device, unit, N_PROMPT, N_DECODE)


def on_device(
    path: Path, device: str, unit: int, hot: int | None = None, staging: int | None = None
) -> LoadSettings:
    plain = settings_for(path, None, unit, threads=1)
    return replace(plain, devices=(device,), hot_per_layer=hot, staging_slots=staging)


@pytest.mark.parametrize("unit", [1, 3, 16, 64])
@pytest.mark.parametrize("hot", [0, 1, 5, N_EXPERT])
@pytest.mark.parametrize("staging", [1, 20, 64])
def test_bit_identical_to_stock_on_the_device(
    tiny_models: TinyModels, server: DeviceServer, unit: int, hot: int, staging: int
) -> None:
    path = tiny_models("qwen3moe")
    with loaded(on_device(path, server.name, unit, hot, staging)) as (backend, info):
        ours = run_ours(backend, prompt_tokens(N_PROMPT), N_DECODE)
        again = run_ours(backend, prompt_tokens(N_PROMPT), N_DECODE)  # other experts are hot by now
    assert info.unit_tokens == unit
    assert_identical(ours, stock(path, server.name, unit))
    assert_identical(again, stock(path, server.name, unit))


@pytest.mark.parametrize(
    "variant",
    ["qwen2moe", "deepseek2", "deepseek2-merged", "gpt-oss", "gpt-oss-mxfp4", "mixed", "uneven", "sharded"],
)
def test_every_kind_of_expert_tensor(tiny_models: TinyModels, server: DeviceServer, variant: str) -> None:
    path = tiny_models(variant)
    with loaded(on_device(path, server.name, 3, 1, 1)) as (backend, _):
        ours = run_ours(backend, prompt_tokens(N_PROMPT), N_DECODE)
    assert_identical(ours, stock(path, server.name, 3))


@pytest.mark.parametrize(("hot", "staging"), [(1, 1), (None, None)])
def test_an_embedding_that_is_the_output_too(
    tiny_models: TinyModels, server: DeviceServer, hot: int | None, staging: int | None
) -> None:
    path = tiny_models("qwen3moe", is_tied=True, n_vocab=4000)
    with loaded(on_device(path, server.name, 3, hot, staging)) as (backend, _):
        ours = run_ours(backend, prompt_tokens(N_PROMPT), N_DECODE)
    assert_identical(ours, stock(path, server.name, 3))


@pytest.mark.parametrize("is_tied", [False, True])
def test_the_output_is_on_the_device_and_the_embedding_here(
    tiny_models: TinyModels, server: DeviceServer, is_tied: bool
) -> None:
    path = tiny_models("qwen3moe", is_tied=is_tied, n_vocab=4000)
    devices = DeviceSet([server.name])
    share = DeviceShare(tuple(devices.devices), (5,))  # four layers and the output
    model = NativeModel(path, lambda _: True, True, False, share)
    try:
        here, there = set(model.dense.tensors), set(model.on_devices.tensors)
    finally:
        model.close()
        devices.close()
    assert here == {"token_embd.weight"}
    assert ("token_embd.weight" if is_tied else "output.weight") in there  # as stock llama.cpp
    assert {"output_norm.weight", "blk.0.attn_q.weight", "blk.3.ffn_gate_inp.weight"} <= there


def test_a_tied_output_counts_here_and_there(tiny_models: TinyModels, server: DeviceServer) -> None:
    def sizes(is_tied: bool) -> tuple[int, int]:
        path = tiny_models("qwen3moe", is_tied=is_tied, n_vocab=4000)
        with loaded(on_device(path, server.name, 16)) as (_, info):
            return info.dense_bytes, info.devices[0].used_bytes

    assert sizes(is_tied=True) == sizes(is_tied=False)  # both matrices have the same shape and type


@pytest.mark.parametrize("unit", [1, 16])
def test_few_host_slots_below_few_device_slots(
    tiny_models: TinyModels, server: DeviceServer, unit: int
) -> None:
    path = tiny_models("qwen3moe")
    settings = replace(on_device(path, server.name, unit, 1, 1), slots_per_class=16)
    with loaded(settings) as (backend, info):
        ours = run_ours(backend, prompt_tokens(N_PROMPT), N_DECODE)
        counters = backend.counters()
    assert_identical(ours, stock(path, server.name, info.unit_tokens))
    assert counters.evictions > 0


@pytest.mark.parametrize("hot", [0, 5])
@pytest.mark.parametrize("unit", [1, 16])
def test_resident_routing_is_as_stock_under_the_same_rule(
    tiny_models: TinyModels, server: DeviceServer, unit: int, hot: int
) -> None:
    path = tiny_models("qwen3moe")
    settings = replace(
        on_device(path, server.name, unit, hot, 1),
        routing=Routing.RESIDENT,
        pool_per_layer=6,
        is_pool_fixed=True,
    )
    with loaded(settings) as (backend, info):
        ours = run_ours(backend, prompt_tokens(N_PROMPT), N_DECODE)
        counters = backend.counters()
    # the device server computes with the same kernels as this machine, and exactly as many tokens at once
    assert_identical(ours, run_resident_stock(path, unit, info.top_k, set(range(6)), N_PROMPT, N_DECODE))
    assert 0 < counters.gate_mass_used < counters.gate_mass_wanted


def test_bytes_over_the_link_are_misses_times_expert_size(
    tiny_models: TinyModels, server: DeviceServer
) -> None:
    with loaded(on_device(tiny_models("qwen3moe"), server.name, 3, 0, 20)) as (backend, info):
        run_ours(backend, prompt_tokens(N_PROMPT), N_DECODE)
        counters = backend.counters()
    misses = counters.expert_requests - counters.requests_by_tier["vram"]
    assert misses > 64  # more than all experts once: staging was re-used
    assert counters.requests_by_tier["vram"] > 0
    assert counters.bytes_by_link == {server.name: misses * info.expert_bytes}
    assert 0 < counters.transfer_wait_ns <= counters.transfer_busy_ns
    assert counters.transfer_wait_prefill_ns > 0
    assert counters.transfer_wait_decode_ns > 0


@pytest.mark.parametrize("routing", [Routing.EXACT, Routing.RESIDENT])
def test_promoted_experts_cross_the_link_no_more(
    tiny_models: TinyModels, server: DeviceServer, routing: Routing
) -> None:
    path = tiny_models("qwen3moe")
    settings = replace(on_device(path, server.name, 64, 3, 1), routing=routing, pool_per_layer=None)
    with loaded(settings) as (backend, info):
        first = run_ours(backend, prompt_tokens(N_PROMPT), 0)
        promoted = backend.counters()
        uses = backend.experts()
        second = run_ours(backend, prompt_tokens(N_PROMPT), 0)
        after = backend.counters()
    assert uses is not None
    assert_identical(first, second)
    assert [each.hot_per_layer for each in info.slot_classes] == [3]
    assert [each.device_slots for each in info.slot_classes] == [3 * 4 + 13]
    in_vram = after.requests_by_tier["vram"] - promoted.requests_by_tier["vram"]
    misses = after.expert_requests - promoted.expert_requests - in_vram
    assert in_vram >= 3 * 3  # the last layer computes one token, which needs not want its hot ones
    # nothing but the misses crossed: no hot expert, and none was promoted anew
    assert after.bytes_by_link[server.name] - promoted.bytes_by_link[server.name] == (
        misses * info.expert_bytes
    )
    for layer in range(3):
        hot = np.argsort(-uses.prefill_uses[layer], kind="stable")[:3]
        assert set(uses.tiers[layer][hot]) == {Tier.VRAM}


def test_all_experts_on_the_device_cross_the_link_once(tiny_models: TinyModels, server: DeviceServer) -> None:
    path = tiny_models("qwen3moe")
    with loaded(on_device(path, server.name, 16)) as (backend, info):
        run_ours(backend, prompt_tokens(N_PROMPT), N_DECODE)
        once = backend.counters()
        experts = backend.experts()
        run_ours(backend, prompt_tokens(N_PROMPT), N_DECODE)
        twice = backend.counters()
    assert experts is not None
    used = int(np.count_nonzero(experts.prefill_uses + experts.decode_uses))
    assert once.bytes_by_link == {server.name: used * info.expert_bytes}
    assert twice.bytes_by_link == once.bytes_by_link
    assert np.count_nonzero(experts.tiers == Tier.VRAM) == used
    (device,) = info.devices
    assert device.layers == info.moe_layers
    assert 0 < device.used_bytes <= device.budget_bytes < device.memory_bytes


@pytest.mark.parametrize(("hot", "staging"), [(1, 1), (None, None)])
def test_layers_are_spread_over_several_devices(
    tiny_models: TinyModels, server: DeviceServer, hot: int | None, staging: int | None
) -> None:
    path = tiny_models("qwen3moe")
    with serving_device() as second:
        settings = replace(on_device(path, server.name, 16, hot, staging), devices=(server.name, second.name))
        with loaded(settings) as (backend, info):
            ours = run_ours(backend, prompt_tokens(N_PROMPT), N_DECODE)
            counters = backend.counters()
    assert [device.layers for device in info.devices] == [(0, 1), (2, 3)]
    assert set(counters.bytes_by_link) == {server.name, second.name}
    assert_identical(ours, stock(path, server.name, 16))


@pytest.mark.parametrize("vram", [1, 2, 4, 6, 8])
def test_any_cap_gives_the_same_answer(tiny_models: TinyModels, server: DeviceServer, vram: int) -> None:
    path = tiny_models("mixed")
    settings = replace(on_device(path, server.name, 16), vram_budget_bytes=vram << 20)
    with loaded(settings) as (backend, info):
        ours = run_ours(backend, prompt_tokens(N_PROMPT), N_DECODE)
    assert info.devices[0].used_bytes <= vram << 20
    assert_identical(ours, stock(path, server.name, 16))


def test_a_pass_on_a_device_can_be_stopped(tiny_models: TinyModels, server: DeviceServer) -> None:
    path = tiny_models("qwen3moe")
    with loaded(on_device(path, server.name, 16, 1, 1)) as (backend, _):
        token = CancelToken()
        backend.set_layer_listener(lambda done, _: token.cancel() if done == 2 else None)
        with pytest.raises(Cancelled):
            backend.evaluate(prompt_tokens(16), 0, True, token)
        backend.set_layer_listener(None)
        ours = run_ours(backend, prompt_tokens(N_PROMPT), N_DECODE)
    assert_identical(ours, stock(path, server.name, 16))


def test_what_is_learned_counts_hot_experts_too(
    tiny_models: TinyModels, server: DeviceServer, tmp_path: Path
) -> None:
    path = tiny_models("qwen3moe")
    plain = replace(settings_for(path, 40, 16, threads=1), profile_dir=tmp_path / "here", hot_per_layer=0)
    there = replace(on_device(path, server.name, 16, 5, 20), profile_dir=tmp_path / "there")
    for settings in (plain, there):
        with loaded(settings) as (backend, _):
            run_ours(backend, prompt_tokens(N_PROMPT), N_DECODE)
    here, there_file = (next((tmp_path / name).iterdir()) for name in ("here", "there"))
    assert here.read_bytes() == there_file.read_bytes()  # the same text: the same use, wherever experts are


def test_dense_weights_on_the_device_need_no_memory_here(
    tiny_models: TinyModels, server: DeviceServer
) -> None:
    path = tiny_models("qwen3moe")
    with loaded(settings_for(path, 16, 16, threads=1)) as (_, here):
        pass
    with loaded(replace(on_device(path, server.name, 16), slots_per_class=16)) as (_, there):
        pass
    # a router and four attention matrices per layer and the output are there; the embedding is not
    assert there.dense_bytes < here.dense_bytes / 2


def test_a_device_too_small_for_anything_is_left_alone(tiny_models: TinyModels, server: DeviceServer) -> None:
    path = tiny_models("qwen3moe")
    settings = replace(on_device(path, server.name, 16), vram_budget_bytes=1000)
    with loaded(settings) as (backend, info):
        ours = run_ours(backend, prompt_tokens(N_PROMPT), N_DECODE)
        assert backend.counters().bytes_by_link == {}
    assert info.devices[0].layers == ()
    assert_identical(ours, stock(path, server.name, 16))  # same kernels, here and there


def test_weights_are_repacked_if_no_device_takes_any(tiny_models: TinyModels, server: DeviceServer) -> None:
    plain = replace(settings_for(tiny_models("qwen3moe"), None, 16, threads=1), repack=Repack.ON)
    unused = replace(plain, devices=(server.name,), vram_budget_bytes=1000)
    with loaded(plain) as (_, here):
        pass
    with loaded(unused) as (backend, there):
        run_ours(backend, prompt_tokens(4), 1)
    assert here.is_repacked
    assert there.is_repacked
    with loaded(replace(unused, vram_budget_bytes=None)) as (_, used):
        assert not used.is_repacked


@pytest.mark.parametrize(
    ("name", "fault", "words"),
    [
        ("CUDA7", UsageError, "no device “CUDA7”"),
        ("CPU", UsageError, "no device “CPU”"),
        ("rpc:127.0.0.1:1", DeviceError, "can't be reached"),
        ("rpc:127.0.0.1", UsageError, "rpc:HOST:PORT"),
    ],
)
def test_a_wrong_device_is_named(
    tiny_models: TinyModels, name: str, fault: type[Exception], words: str
) -> None:
    with pytest.raises(fault, match=words), loaded(on_device(tiny_models("qwen3moe"), name, 16)):
        pass


def test_a_busy_device_is_named(tiny_models: TinyModels, server: DeviceServer) -> None:
    path = tiny_models("qwen3moe")
    with loaded(on_device(path, server.name, 16)) as (backend, _):
        with pytest.raises(DeviceError, match="one program at a time"):
            DeviceSet([server.name])
        run_ours(backend, prompt_tokens(4), 1)


def test_a_host_budget_too_small_names_the_need(tiny_models: TinyModels, server: DeviceServer) -> None:
    settings = replace(on_device(tiny_models("qwen3moe"), server.name, 16), ram_budget_bytes=1 << 20)
    with pytest.raises(BudgetError, match="it needs at least"), loaded(settings):
        pass


def test_too_few_slots_for_a_layer_name_the_setting_that_helps(
    tiny_models: TinyModels, server: DeviceServer
) -> None:
    devices = DeviceSet([server.name])
    link = devices.devices[0].open_link()
    try:
        experts = expert_layout(read_model(tiny_models("qwen3moe"))).layers[1]
        no_memory = cast(DeviceArena, None)  # nothing is copied
        table = SlotTable(1, N_EXPERT, 2, 2)
        row = DeviceRow(DeviceClass(link, no_memory, table, 0, False, None), 0, experts)
        with pytest.raises(EngineError, match="Layer 1 needs 3 experts at once") as caught:
            row.bring(np.arange(3), 3, cast(SlotArena, None), [])
    finally:
        link.close()
        devices.close()
    assert caught.value.settings == ("unit_tokens",)
    assert (row.slot_of == -1).all()


def test_spilled_memory_is_said_after_the_load(
    tiny_models: TinyModels, server: DeviceServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tiny_models("qwen3moe")
    expected = stock(path, server.name, 16)
    free = [1 << 30]

    class FillingArena(DeviceArena):
        def __init__(self, *values: Any) -> None:  # noqa: ANN401 - whatever the arena takes
            super().__init__(*values)
            free[0] = 10 << 20

    monkeypatch.setattr(Device, "memory", lambda _: DeviceMemory(free[0], 1 << 30))
    monkeypatch.setattr(Device, "is_remote", property(lambda _: False))
    monkeypatch.setattr(device_loading, "DeviceArena", FillingArena)
    monkeypatch.setattr(device_loading, "measure_link_rate", lambda _: 1e18)  # no memory is quicker
    monkeypatch.setattr(device_arena, "_LEAST_MEASURED_BYTES", 0)
    with loaded(on_device(path, server.name, 16, 1, 1)) as (backend, info):
        ours = run_ours(backend, prompt_tokens(N_PROMPT), N_DECODE)
    assert any("shared GPU memory" in note and server.name in note for note in info.notes)
    assert_identical(ours, expected)  # measuring has cleared nothing that is in use
