"""Row tables: stock logits, bounded memory, traffic apart, faults without wrong answers."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from engine.backends.base import CancelToken
from engine.backends.llama_cpp import LlamaCppBackend
from engine.backends.stock import StockModel
from engine.config import Repack
from engine.errors import Cancelled, DiskReadError
from engine.gguf.reader import read_model
from engine.native import tensor
from engine.native.context import ContextSettings
from engine.native.memory import PagedMemory
from engine.offload import row_tables
from engine.offload.reader_pool import ReaderPool
from engine.offload.row_tables import BUFFER_BYTES
from engine.offload.weight_files import WeightFiles
from tests.native.conftest import TinyModels
from tests.support.device_runs import run_stock_on_device
from tests.support.device_server import DeviceServer, serving_device
from tests.support.exact_runs import (
    CONTEXT_TOKENS,
    Logits,
    assert_identical,
    loaded,
    run_ours,
    settings_for,
)
from tests.support.resident_pages import cached_bytes, drop_cached, resident_bytes

TABLE = "per_layer_token_embd.weight"
N_VOCAB, N_DECODE = 20_000, 6
LAYOUTS = ("gemma4", "gemma4-dense", "gemma3n")
PAGE = 4096


def _tokens(count: int, seed: int = 1) -> list[int]:
    """Tokens from the whole vocabulary: nearly all of them have a row of their own."""
    return [int(t) for t in np.random.default_rng(seed).integers(0, N_VOCAB, count)]


@cache
def _stock(
    path: Path, unit_tokens: int, n_prompt: int, seed: int, is_repacked: bool = False
) -> tuple[Logits, ...]:
    model = StockModel(path, ContextSettings(CONTEXT_TOKENS, unit_tokens, 1), is_repacked)
    try:
        steps = [model.evaluate(_tokens(n_prompt, seed), 0)]
        for index in range(N_DECODE):
            steps.append(model.evaluate([int(steps[-1].argmax())], n_prompt + index))
        return tuple(steps)
    finally:
        model.close()


@pytest.fixture(params=LAYOUTS)
def layout(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def model_path(tiny_models: TinyModels, layout: str) -> Path:
    return tiny_models(layout, n_vocab=N_VOCAB)


@pytest.fixture
def memories(monkeypatch: pytest.MonkeyPatch) -> list[PagedMemory]:
    """The memory of row tables, as it is made."""
    made: list[PagedMemory] = []

    class Watched(PagedMemory):
        def __init__(self, size_bytes: int) -> None:
            super().__init__(size_bytes)
            made.append(self)

    monkeypatch.setattr(row_tables, "PagedMemory", Watched)
    return made


@pytest.mark.parametrize("unit", [1, 7, 64])
def test_logits_of_stock_and_traffic_counted_apart(model_path: Path, unit: int) -> None:
    table = next(t for t in read_model(model_path).tensors if t.name == TABLE)
    assert table.size_bytes > 10 * BUFFER_BYTES
    with loaded(settings_for(model_path, None, unit, threads=1)) as (backend, info):
        assert info.row_table_bytes == table.size_bytes
        dense_bytes = sum(t.size_bytes for t in read_model(model_path).tensors if "_exps" not in t.name)
        assert info.dense_bytes == dense_bytes - table.size_bytes
        before = backend.counters()
        assert before.bytes_by_reason.get("row", 0) == 0  # nothing is read ahead
        ours = run_ours(backend, _tokens(70), N_DECODE)
        read = backend.counters().bytes_by_reason["row"]
    assert_identical(ours, _stock(model_path, unit, 70, 1))
    row_bytes = table.size_bytes // N_VOCAB
    distinct = len({*_tokens(70), *(int(step.argmax()) for step in ours[:-1])})
    # a row of 1,088 bytes lies in one page or in two; two rows seldom share one
    assert 0.9 * distinct * PAGE <= read <= distinct * 2 * PAGE
    assert row_bytes < PAGE


@pytest.mark.parametrize("slots", [20, None])
def test_repacked_weights_beside_tables(model_path: Path, slots: int | None) -> None:
    settings = settings_for(model_path, slots, 7, threads=1, repack=Repack.ON)
    with loaded(settings) as (backend, info):
        ours = run_ours(backend, _tokens(70), N_DECODE)
        again = run_ours(backend, _tokens(70), N_DECODE)
        assert backend.counters().bytes_by_reason["row"] > 0
    assert info.row_table_bytes > 10 * BUFFER_BYTES
    for steps in (ours, again):
        assert_identical(steps, _stock(model_path, info.unit_tokens, 70, 1, is_repacked=True))


@pytest.fixture(scope="module")
def server() -> Iterator[DeviceServer]:
    with serving_device() as server:
        yield server


@pytest.mark.parametrize("repack", [Repack.OFF, Repack.ON])
@pytest.mark.parametrize("hot", [1, None])
def test_tables_stay_here_when_layers_are_on_a_device(
    model_path: Path, server: DeviceServer, hot: int | None, repack: Repack
) -> None:
    settings = replace(
        settings_for(model_path, None, 7, threads=1, repack=repack),
        devices=(server.name,),
        hot_per_layer=hot,
    )
    with loaded(settings) as (backend, info):
        ours = run_ours(backend, _tokens(40), N_DECODE)
        assert backend.counters().bytes_by_reason["row"] > 0
    assert info.row_table_bytes > 10 * BUFFER_BYTES
    assert info.devices[0].used_bytes > 0
    assert not info.is_repacked
    stock = run_stock_on_device(model_path, server.name, 7, 40, N_DECODE, tuple(_tokens(40)))
    assert_identical(ours, stock)


def test_memory_never_exceeds_the_buffer(model_path: Path, memories: list[PagedMemory]) -> None:
    table = next(t for t in read_model(model_path).tensors if t.name == TABLE)
    drop_cached(model_path)
    token, most = CancelToken(), 0
    with loaded(settings_for(model_path, None, 64, threads=1)) as (backend, _):
        (memory,) = memories
        assert memory.size_bytes >= table.size_bytes
        for seed in range(20):  # 1,280 rows: their pages are more than twice the buffer
            backend.keep_prefix(0)
            backend.evaluate(_tokens(64, seed), 0, True, token)
            most = max(most, resident_bytes(memory.address, memory.size_bytes))
        assert backend.counters().bytes_by_reason["row"] > 2 * BUFFER_BYTES
        # neither is a second copy in the page cache; the first bytes come with the file's header
        assert cached_bytes(model_path, table.offset_bytes, table.size_bytes) <= table.size_bytes // 20
    assert 0.9 * BUFFER_BYTES <= most <= BUFFER_BYTES


def test_a_unit_beyond_the_buffer_grows_it_for_that_pass_only(
    tiny_models: TinyModels, memories: list[PagedMemory], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_tables, "BUFFER_BYTES", 16 * PAGE)
    path = tiny_models("gemma4-dense", n_vocab=N_VOCAB)
    seen: list[int] = []
    end_pass = row_tables.RowTables.end_pass

    def watched_end(rows: row_tables.RowTables) -> None:
        seen.append(resident_bytes(memories[0].address, memories[0].size_bytes))
        end_pass(rows)
        seen.append(resident_bytes(memories[0].address, memories[0].size_bytes))

    monkeypatch.setattr(row_tables.RowTables, "end_pass", watched_end)
    with loaded(settings_for(path, None, 64, threads=1)) as (backend, _):
        ours = run_ours(backend, _tokens(70), N_DECODE)
    assert_identical(ours, _stock(path, 64, 70, 1))
    assert seen[0] >= 60 * PAGE
    assert all(after <= 16 * PAGE for after in seen[1::2])
    assert max(seen[4::2]) <= 16 * PAGE  # a decoded token fits


def test_rows_in_the_buffer_are_not_read_again(model_path: Path) -> None:
    with loaded(settings_for(model_path, None, 64, threads=1)) as (backend, _):
        first = run_ours(backend, _tokens(70), N_DECODE)
        read = backend.counters().bytes_by_reason["row"]
        again = run_ours(backend, _tokens(70), N_DECODE)
        assert backend.counters().bytes_by_reason["row"] == read
    assert_identical(again, first)


@pytest.mark.usefixtures("no_direct_io")
def test_without_direct_reads_the_rows_are_the_same(tiny_models: TinyModels) -> None:
    path = tiny_models("gemma4", n_vocab=N_VOCAB)
    with loaded(settings_for(path, None, 64, threads=1)) as (backend, info):
        assert not info.is_direct_io
        ours = run_ours(backend, _tokens(70), N_DECODE)
    assert_identical(ours, _stock(path, 64, 70, 1))


def test_token_embeddings_of_their_own_stay_on_disk_too(
    tiny_models: TinyModels, memories: list[PagedMemory]
) -> None:
    path = tiny_models("qwen3moe", n_vocab=120_000, n_layer=2)  # 17 MB of them
    with loaded(settings_for(path, None, 16, threads=1)) as (backend, info):
        assert info.row_table_bytes == 120_000 * 256 // 32 * 18
        ours = run_ours(backend, [119_999, 0, *_tokens(68)], N_DECODE)
        assert resident_bytes(memories[0].address, memories[0].size_bytes) <= 80 * 2 * PAGE
    model = StockModel(path, ContextSettings(CONTEXT_TOKENS, 16, 1), False)
    try:
        assert_identical(ours[:1], (model.evaluate([119_999, 0, *_tokens(68)], 0),))
    finally:
        model.close()


def test_truncated_file_is_a_named_error_and_nothing_is_computed(model_path: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(model_path, tmp_path / "own.gguf"))
    table = next(t for t in read_model(path).tensors if t.name == TABLE)
    whole, token = path.read_bytes(), CancelToken()
    with loaded(settings_for(path, None, 16, threads=1)) as (backend, _):
        backend.evaluate(_tokens(30), 0, True, token)
        os.truncate(path, table.offset_bytes + PAGE)
        with pytest.raises(DiskReadError, match=r"own\.gguf") as fault:
            backend.evaluate(_tokens(20, seed=2), 30, True, token)
        assert "truncated" in fault.value.fault
        assert backend.keep_prefix(50) == 30  # as if it had not been asked
        path.write_bytes(whole)
        backend.evaluate(_tokens(20, seed=2), 30, True, token)
        after = backend.logits()
        fresh = run_ours(backend, [*_tokens(30), *_tokens(20, seed=2)], 0)
        assert backend.counters().read_errors > 0
    # the cuts between units differ, and with them the order of sums
    assert np.allclose(after, fresh[0], rtol=0, atol=1e-2)


def test_cancel_while_rows_are_read(
    model_path: Path, memories: list[PagedMemory], monkeypatch: pytest.MonkeyPatch
) -> None:
    token, is_dropped, reads = CancelToken(), threading.Event(), []
    real_read, real_drop = WeightFiles.read, ReaderPool.drop_queued

    def slow_read(files: WeightFiles, *arguments: object) -> int:
        reads.append(arguments)
        token.cancel()
        is_dropped.wait()  # until the engine thread has given up
        return real_read(files, *arguments)  # type: ignore[arg-type]  # passed on as they came

    def drop(readers: ReaderPool) -> None:
        is_dropped.set()
        real_drop(readers)

    with loaded(settings_for(model_path, None, 64, threads=1)) as (backend, _):
        with monkeypatch.context() as patched:
            patched.setattr(WeightFiles, "read", slow_read)
            patched.setattr(ReaderPool, "drop_queued", drop)
            with pytest.raises(Cancelled):
                backend.evaluate(_tokens(64), 0, True, token)
        assert 0 < len(reads) < 64  # the others were called off
        assert resident_bytes(memories[0].address, memories[0].size_bytes) <= 2 * PAGE
        ours = run_ours(backend, _tokens(70), N_DECODE)
    assert_identical(ours, _stock(model_path, 64, 70, 1))


def test_a_table_that_is_used_otherwise_is_read_whole(
    model_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tensor, "is_int32_input", lambda _: False)  # row numbers that only a node knows
    with loaded(settings_for(model_path, None, 64, threads=1)) as (backend, info):
        ours = run_ours(backend, _tokens(70), N_DECODE)
        assert backend.counters().bytes_by_reason.get("row", 0) == 0
    assert info.row_table_bytes == 0
    assert any(TABLE in note for note in info.notes)
    assert_identical(ours, _stock(model_path, 64, 70, 1))


def test_cancelled_load_leaves_nothing(model_path: Path) -> None:
    token, threads = CancelToken(), threading.active_count()
    backend = LlamaCppBackend()
    with pytest.raises(Cancelled):
        backend.load(settings_for(model_path, None, 16), lambda _: token.cancel(), token)
    assert threading.active_count() == threads
