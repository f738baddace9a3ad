"""Copies to a device that begin while the layer before computes; and the memory they come from."""

from __future__ import annotations

import ctypes as c
from dataclasses import replace
from pathlib import Path

import pytest

from engine.backends.base import CancelToken
from engine.config import LoadSettings, Routing
from engine.errors import Cancelled
from engine.native import pinned_memory
from engine.native.devices import DeviceSet
from engine.native.library import DeviceProperties, cpu_device, ggml_base
from engine.native.memory import PAGE, HugeBuffer
from engine.native.pinned_memory import PinnedBuffer, allocate_pinned
from tests.native.conftest import TinyModels
from tests.support.device_runs import run_stock_on_device
from tests.support.device_server import DeviceServer
from tests.support.exact_runs import (
    Logits,
    assert_identical,
    loaded,
    prompt_tokens,
    run_ours,
    settings_for,
)
from tests.support.late_link import let_devices_copy_ahead

N_PROMPT, N_DECODE = 40, 8


def stock(path: Path, device: str, unit: int) -> tuple[Logits, ...]:
    return run_stock_on_device(path, device, unit, N_PROMPT, N_DECODE)


def on_device(path: Path, device: str, unit: int, hot: int = 0, staging: int = 20) -> LoadSettings:
    plain = settings_for(path, None, unit, threads=1)
    return replace(plain, devices=(device,), hot_per_layer=hot, staging_slots=staging)


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("unit", [3, 16])
@pytest.mark.parametrize(("hot", "staging"), [(0, 20), (1, 1), (3, 40)])
def test_copying_ahead_changes_no_bit(
    tiny_models: TinyModels,
    server: DeviceServer,
    monkeypatch: pytest.MonkeyPatch,
    is_late: bool,
    unit: int,
    hot: int,
    staging: int,
) -> None:
    path = tiny_models("qwen3moe", n_layer=8)
    expected = stock(path, server.name, unit)
    let_devices_copy_ahead(monkeypatch, is_late)
    with loaded(on_device(path, server.name, unit, hot, staging)) as (backend, _):
        ours = run_ours(backend, prompt_tokens(N_PROMPT), N_DECODE)
        again = run_ours(backend, prompt_tokens(N_PROMPT), N_DECODE)
        counters = backend.counters()
    assert_identical(ours, expected)
    assert_identical(again, expected)
    assert 0 < counters.expert_copied_ahead_used <= counters.expert_copied_ahead


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("unit", [3, 16])
def test_host_slots_that_are_evicted_meanwhile(
    tiny_models: TinyModels,
    server: DeviceServer,
    monkeypatch: pytest.MonkeyPatch,
    is_late: bool,
    unit: int,
) -> None:
    path = tiny_models("qwen3moe", n_layer=8)
    expected = stock(path, server.name, unit)
    let_devices_copy_ahead(monkeypatch, is_late)
    settings = replace(on_device(path, server.name, unit), slots_per_class=40)
    with loaded(settings) as (backend, info):
        ours = run_ours(backend, prompt_tokens(N_PROMPT), N_DECODE)
        counters = backend.counters()
    assert info.unit_tokens == unit
    assert_identical(ours, expected)
    assert counters.evictions > 0
    assert counters.expert_copied_ahead > 0


def test_resident_routing_stays_as_it_is(
    tiny_models: TinyModels, server: DeviceServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(
        on_device(tiny_models("qwen3moe", n_layer=8), server.name, 3),
        routing=Routing.RESIDENT,
        pool_per_layer=6,
    )
    with loaded(settings) as (backend, _):
        expected = run_ours(backend, prompt_tokens(N_PROMPT), N_DECODE)
    let_devices_copy_ahead(monkeypatch, is_late=True)
    with loaded(settings) as (backend, _):
        ours = run_ours(backend, prompt_tokens(N_PROMPT), N_DECODE)
        assert backend.counters().expert_copied_ahead > 0
    assert_identical(ours, expected)


def test_bytes_are_what_was_missed_and_what_was_copied_ahead(
    tiny_models: TinyModels, server: DeviceServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_devices_copy_ahead(monkeypatch, is_late=True)
    with loaded(on_device(tiny_models("qwen3moe", n_layer=8), server.name, 3)) as (backend, info):
        run_ours(backend, prompt_tokens(N_PROMPT), N_DECODE)
        counters = backend.counters()
    missed = counters.expert_requests - counters.requests_by_tier["vram"]
    assert counters.bytes_by_link == {
        server.name: (missed + counters.expert_copied_ahead) * info.expert_bytes
    }
    assert counters.expert_copied_ahead_used < counters.expert_copied_ahead  # a guess is not always right
    assert counters.transfer_wait_ns > 0
    assert counters.transfer_busy_ns > 0


def test_a_pass_that_is_stopped_leaves_nothing_on_its_way(
    tiny_models: TinyModels, server: DeviceServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tiny_models("qwen3moe", n_layer=8)
    expected = stock(path, server.name, 16)
    let_devices_copy_ahead(monkeypatch, is_late=True)
    with loaded(on_device(path, server.name, 16)) as (backend, _):
        run_ours(backend, prompt_tokens(N_PROMPT), 0)
        token = CancelToken()
        backend.set_layer_listener(lambda done, _: token.cancel() if done == 2 else None)
        backend.keep_prefix(0)
        with pytest.raises(Cancelled):
            backend.evaluate(prompt_tokens(16, seed=2), 0, True, token)
        backend.set_layer_listener(None)
        ours = run_ours(backend, prompt_tokens(N_PROMPT), N_DECODE)
    assert_identical(ours, expected)


def test_a_device_with_one_queue_gets_nothing_ahead(tiny_models: TinyModels, server: DeviceServer) -> None:
    with loaded(on_device(tiny_models("qwen3moe", n_layer=8), server.name, 3)) as (backend, info):
        run_ours(backend, prompt_tokens(N_PROMPT), N_DECODE)
        assert backend.counters().expert_copied_ahead == 0
    (note,) = (each for each in info.notes if server.name in each)
    assert "ordinary memory" in note
    assert "begin when a layer asks" in note


def test_with_read_ahead_off_nothing_is_copied_ahead(
    tiny_models: TinyModels, server: DeviceServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_devices_copy_ahead(monkeypatch, is_late=False)
    settings = replace(on_device(tiny_models("qwen3moe", n_layer=8), server.name, 3), is_prefetch_on=False)
    with loaded(settings) as (backend, info):
        run_ours(backend, prompt_tokens(N_PROMPT), N_DECODE)
        assert backend.counters().expert_copied_ahead == 0
    assert not any(server.name in each for each in info.notes)  # pinned memory needs no words


def test_an_rpc_device_offers_no_pinned_memory(server: DeviceServer) -> None:
    devices = DeviceSet([server.name])
    try:
        assert devices.devices[0].host_buffer_type == 0
        assert not devices.devices[0].copies_while_computing
    finally:
        devices.close()


def test_what_devices_say_of_themselves_is_read_in_the_right_place(server: DeviceServer) -> None:
    def said(address: int) -> tuple[bool, ...]:
        found = DeviceProperties()
        ggml_base().ggml_backend_dev_get_props(address, c.byref(found))
        return (
            found.is_asynchronous, found.has_host_buffer, found.takes_host_pointers, found.has_events,
            found.can_map,
        )  # fmt: skip

    devices = DeviceSet([server.name])
    try:
        # as ggml-cpu.cpp and ggml-rpc.cpp fill them in
        assert said(cpu_device()) == (False, False, True, False, True)
        assert said(devices.devices[0].address) == (True, False, False, True, True)
    finally:
        devices.close()


@pytest.mark.parametrize("size", [1, PAGE, 3 * PAGE + 5])
def test_pinned_memory_is_used_as_any_other(size: int) -> None:
    memory = allocate_pinned(ggml_base().ggml_backend_cpu_buffer_type(), size)
    try:
        assert isinstance(memory, PinnedBuffer)
        assert memory.address % PAGE == 0
        assert len(memory.view) == size + PAGE
        memory.view[size + PAGE - 1] = 7
        memory.populate(0, size)
        memory.lock(size)
        memory.unlock(size)
        assert memory.lockable(size) == 0
    finally:
        memory.close()
        memory.close()


class _Refusing:
    """A library whose driver pins nothing: no buffer at all, or one of another kind (as CUDA's does)."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self.freed: list[int] = []

    def ggml_backend_buft_alloc_buffer(self, _: int, __: int) -> int:
        return self.handle

    def ggml_backend_buffer_get_type(self, _: int) -> int:
        return 2

    def ggml_backend_buffer_free(self, handle: int) -> None:
        self.freed.append(handle)


@pytest.mark.parametrize(("handle", "freed"), [(0, []), (99, [99])])
def test_a_driver_that_pins_nothing_gets_plain_memory(
    monkeypatch: pytest.MonkeyPatch, handle: int, freed: list[int]
) -> None:
    library = _Refusing(handle)
    monkeypatch.setattr(pinned_memory, "ggml_base", lambda: library)
    memory = allocate_pinned(1, PAGE)
    assert isinstance(memory, HugeBuffer)
    memory.close()
    assert library.freed == freed
