"""The reader against the gguf package's own, and against every wrong file it names."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import pytest
from gguf import GGUFReader
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import EngineError, ModelFileError
from engine.gguf.model_file import ModelFile, SkippedArray
from engine.gguf.reader import read_model
from engine.gguf.synthetic import SyntheticSpec, write_model
from tests.support.gguf_files import write_sound, wrong_files

FAULTS = sorted(
    {
        "missing", "empty", "directory", "truncated header", "truncated data", "git-lfs pointer", "HTML page",
        "wrong magic", "zip", "old ggml", "safetensors", "unfinished download", "unsupported version",
        "version 1", "big-endian", "missing shard", "second shard first", "renamed shard", "duplicate tensor",
        "unknown tensor type", "impossible shape", "too many dimensions", "absurd tensor count",
        "absurd metadata count", "absurd text length", "bad alignment",
    }
)  # fmt: skip


def assert_same_tensors(model: ModelFile, paths: list[Path]) -> None:
    expected = [
        (
            t.name,
            t.tensor_type.name,
            tuple(int(n) for n in t.shape),
            shard,
            int(t.data_offset),
            int(t.n_bytes),
        )
        for shard, path in enumerate(paths)
        for t in GGUFReader(path).tensors
    ]
    found = [(t.name, t.type_name, t.shape, t.shard, t.offset_bytes, t.size_bytes) for t in model.tensors]
    assert found == expected


@pytest.mark.parametrize("alignment", [None, 64, 4096])
def test_agrees_with_the_gguf_package(tmp_path: Path, alignment: int | None) -> None:
    path = write_sound(tmp_path / "田中　é 🔥.gguf", alignment=alignment)
    model = read_model(path)
    assert_same_tensors(model, [path])
    assert model.version == 3
    assert model.architecture == "llama"
    assert model.metadata["test.flag"] is True
    assert model.metadata["test.float"] == 0.5
    assert model.metadata["test.numbers"] == (3, 1, 2)
    assert model.metadata["tokenizer.ggml.tokens"] == SkippedArray(3000, 8)
    assert model.size_bytes == path.stat().st_size


def test_all_shards_make_one_model(tmp_path: Path) -> None:
    spec = SyntheticSpec(layout="qwen3moe", n_layer=2, n_expert=4, top_k=2, n_embd=64, n_ff=32, shards=3)
    paths = list(write_model(spec, tmp_path / "split.gguf"))
    model = read_model(paths[0])
    assert [shard.path for shard in model.shards] == paths
    assert_same_tensors(model, paths)


def test_every_wrong_file_is_listed(tmp_path: Path) -> None:
    assert sorted(wrong_files(tmp_path)) == FAULTS


@pytest.mark.parametrize("fault", FAULTS)
def test_wrong_files_are_named(tmp_path: Path, fault: str) -> None:
    path, words = wrong_files(tmp_path)[fault]
    with pytest.raises(ModelFileError) as caught:
        read_model(path)
    assert words in caught.value.fault
    assert caught.value.next_step.endswith(".")
    assert caught.value.exit_code == 2


def test_missing_bytes_are_counted(tmp_path: Path) -> None:
    path = write_sound(tmp_path / "sound.gguf")
    last = max(read_model(path).tensors, key=lambda t: t.offset_bytes)
    end = last.offset_bytes + last.size_bytes
    path.write_bytes(path.read_bytes()[: end - 17])
    with pytest.raises(ModelFileError, match="17 bytes are missing"):
        read_model(path)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.floats(0, 1))
def test_any_truncation_is_a_named_fault(tmp_path: Path, cut: float) -> None:
    path = tmp_path / "cut.gguf"
    whole = write_sound(tmp_path / "whole.gguf").read_bytes()
    path.write_bytes(whole[: int(cut * len(whole))])
    try:
        model = read_model(path)
    except ModelFileError:
        return
    last = max(model.tensors, key=lambda t: t.offset_bytes)
    assert last.offset_bytes + last.size_bytes <= path.stat().st_size


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(flips=st.lists(st.tuples(st.integers(4, 500), st.integers(0, 255)), min_size=1, max_size=4))
def test_damaged_headers_end_quickly_in_a_named_fault(tmp_path: Path, flips: list[tuple[int, int]]) -> None:
    path = tmp_path / "damaged.gguf"
    data = bytearray(write_sound(tmp_path / "whole.gguf").read_bytes())
    for position, value in flips:
        data[position] = value
    path.write_bytes(data)
    started = time.perf_counter()
    with suppress(EngineError):
        read_model(path)
    assert time.perf_counter() - started < 1


def test_a_long_vocabulary_is_not_kept(tmp_path: Path) -> None:
    model = read_model(write_sound(tmp_path / "sound.gguf"))
    assert not any(isinstance(v, tuple) and len(v) > 1024 for v in model.metadata.values())
