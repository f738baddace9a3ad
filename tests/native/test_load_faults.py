"""Faults, cancels and limits of loading and reading: named errors, nothing computed on missing bytes."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import gguf
import numpy as np
import psutil
import pytest

from engine.backends.base import CancelToken, LoadReport
from engine.backends.llama_cpp import LlamaCppBackend
from engine.config import MIB, LoadSettings
from engine.errors import AbiError, BudgetError, Cancelled, DiskReadError, StateError, UnsupportedModelError
from engine.events import LoadPhase
from engine.native import abi, tensor
from tests.native.conftest import TinyModels
from tests.support.exact_runs import (
    assert_identical,
    loaded,
    prompt_tokens,
    run_ours,
    run_stock,
    settings_for,
)


@pytest.fixture
def own_copy(tiny_models: TinyModels, tmp_path: Path) -> Path:
    return Path(shutil.copy(tiny_models("qwen3moe"), tmp_path / "田中　é 🔥.gguf"))


def test_truncated_while_open_is_an_error_and_the_session_recovers(own_copy: Path) -> None:
    whole = own_copy.read_bytes()
    prompt = prompt_tokens(20)
    with loaded(settings_for(own_copy, 8, 2)) as (backend, _):
        first = run_ours(backend, prompt, 3)
        os.truncate(own_copy, len(whole) // 3)
        with pytest.raises(DiskReadError, match="truncated") as fault:
            run_ours(backend, prompt_tokens(40, seed=9), 30)
        assert own_copy.name in fault.value.fault
        own_copy.write_bytes(whole)  # same inode: the descriptor sees it
        assert_identical(run_ours(backend, prompt, 3), first)
        assert backend.counters().read_errors > 0


def test_failed_pass_leaves_the_cache_as_it_was(own_copy: Path) -> None:
    whole = own_copy.read_bytes()
    token = CancelToken()
    prompt = prompt_tokens(30)
    with loaded(settings_for(own_copy, 8, 2)) as (backend, _):
        backend.evaluate(prompt[:20], 0, True, token)
        os.truncate(own_copy, len(whole) // 3)
        with pytest.raises(DiskReadError):
            backend.evaluate(prompt_tokens(40, seed=9), 20, True, token)
        own_copy.write_bytes(whole)
        assert backend.keep_prefix(30) == 20
        backend.evaluate(prompt[20:], 20, True, token)
        after = backend.logits()
        assert_identical((after,), (run_ours(backend, prompt, 0)[0],))


def test_unlinked_while_open_goes_on(own_copy: Path, tiny_models: TinyModels) -> None:
    with loaded(settings_for(own_copy, 8, 2)) as (backend, info):
        own_copy.unlink()
        ours = run_ours(backend, prompt_tokens(20), 3)
    assert_identical(ours, run_stock(tiny_models("qwen3moe"), info.unit_tokens, 2, 20, 3, 1).steps)


@pytest.mark.parametrize("phase", [LoadPhase.INSPECT, LoadPhase.MAP, LoadPhase.DENSE_READ, LoadPhase.SLOTS])
def test_cancelled_load_leaves_nothing(tiny_models: TinyModels, phase: LoadPhase) -> None:
    token, backend = CancelToken(), LlamaCppBackend()
    threads, files = threading.active_count(), psutil.Process().num_fds()

    def report(progress: LoadReport) -> None:
        if progress.phase is phase:
            token.cancel()

    with pytest.raises(Cancelled):
        backend.load(settings_for(tiny_models("qwen3moe"), None, 16), report, token)
    assert threading.active_count() == threads
    assert psutil.Process().num_fds() == files
    with pytest.raises(StateError):
        backend.counters()


@pytest.mark.parametrize("is_prefill", [True, False])
def test_cancel_from_another_thread_stops_a_pass(tiny_models: TinyModels, is_prefill: bool) -> None:
    path = tiny_models("qwen3moe")
    prompt = prompt_tokens(20)
    with loaded(settings_for(path, 8, 2)) as (backend, info):
        token = CancelToken()
        calls: list[int] = []

        def listener(layer: int, _: int) -> None:
            calls.append(layer)
            if len(calls) == 3:  # in the middle of a graph
                thread = threading.Thread(target=token.cancel)
                thread.start()
                thread.join()

        backend.set_layer_listener(listener)
        with pytest.raises(Cancelled):
            backend.evaluate(prompt if is_prefill else prompt[:1], 0, is_prefill, token)
        assert len(calls) <= 4
        backend.set_layer_listener(None)
        assert_identical(run_ours(backend, prompt, 2), run_stock(path, info.unit_tokens, 2, 20, 2, 1).steps)


@pytest.mark.usefixtures("no_direct_io")
def test_filesystem_without_direct_io_falls_back_and_says_so(tiny_models: TinyModels) -> None:
    path = tiny_models("qwen3moe")
    with loaded(settings_for(path, 8, 2)) as (backend, info):
        ours = run_ours(backend, prompt_tokens(20), 3)
    assert not info.is_direct_io
    assert any("direct I/O" in note for note in info.notes)
    assert_identical(ours, run_stock(path, info.unit_tokens, 2, 20, 3, 1).steps)


def test_budget_too_small_names_the_least_need(tiny_models: TinyModels) -> None:
    settings = LoadSettings(tiny_models("qwen3moe"), ram_budget_bytes=50 * MIB, context_tokens=256)
    with pytest.raises(BudgetError, match="at least") as fault:
        LlamaCppBackend().load(settings, lambda _: None, CancelToken())
    assert fault.value.settings == ("ram_budget_bytes", "context_tokens")


def test_unknown_architecture_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "strange.gguf"
    writer = gguf.GGUFWriter(path, "neverheardof")
    writer.add_block_count(1)
    writer.add_tensor("token_embd.weight", np.zeros((8, 32), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(UnsupportedModelError, match="neverheardof"):
        LlamaCppBackend().load(LoadSettings(path), lambda _: None, CancelToken())


def test_graph_without_routing_nodes_is_refused(
    tiny_models: TinyModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tensor.name_of
    monkeypatch.setattr(tensor, "name_of", lambda t: real(t).replace(b"ffn_moe_weights-2", b"something-else"))
    with pytest.raises(UnsupportedModelError, match=r"qwen3moe.*layer 2"):
        LlamaCppBackend().load(settings_for(tiny_models("qwen3moe"), 8, 2), lambda _: None, CancelToken())


@pytest.fixture
def fresh_check() -> Iterator[None]:
    abi.check.cache_clear()
    yield
    abi.check.cache_clear()


@pytest.mark.usefixtures("fresh_check")
def test_other_library_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(abi.llama_cpp, "__version__", "0.3.99")
    with pytest.raises(AbiError, match=r"0\.3\.99"):
        abi.check()


@pytest.mark.usefixtures("fresh_check")
@pytest.mark.parametrize("field", ["NE", "NB", "SRC", "NAME", "TENSOR_SIZE", "BUFFER_TYPE", "BUFFER_SIZE"])
def test_other_struct_layout_is_refused(monkeypatch: pytest.MonkeyPatch, field: str) -> None:
    monkeypatch.setattr(tensor, field, getattr(tensor, field) + 8)
    with pytest.raises(AbiError):
        abi.check()


def test_load_and_unload_leak_nothing(tiny_models: TinyModels) -> None:
    path = tiny_models("mixed")
    process = psutil.Process()

    def cycle() -> None:
        with loaded(settings_for(path, 20, 16)) as (backend, _):
            run_ours(backend, prompt_tokens(30), 3)

    cycle()
    cycle()
    before = (process.memory_info().rss, process.num_fds(), threading.active_count())
    for _ in range(10):
        cycle()
    assert process.memory_info().rss - before[0] < 20 * MIB
    assert (process.num_fds(), threading.active_count()) == before[1:]
