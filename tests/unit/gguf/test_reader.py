"""The reader against the gguf package's own reader, on files the gguf package wrote."""

from __future__ import annotations

import os
import struct
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter
from hypothesis import given, settings

from engine.errors import EngineError, ModelFileError
from engine.gguf.expert_layout import expert_layout
from engine.gguf.facts import model_facts
from engine.gguf.model_file import ModelFile, SkippedArray
from engine.gguf.reader import read_model
from tests.support.gguf_files import RawGguf, RawTensor, entry, write_gguf
from tests.support.models import TINY_VARIANTS, tiny_model

_VIRTUAL_KEYS = ("GGUF.version", "GGUF.tensor_count", "GGUF.kv_count")  # of the package's reader


def _assert_same(model: ModelFile) -> None:
    """Tensors, offsets, sizes and metadata are those that the gguf package finds."""
    readers = [GGUFReader(shard.path) for shard in model.shards]
    expected = [
        (t.name, t.tensor_type.name, tuple(t.shape.tolist()), index, int(t.data_offset), int(t.n_bytes))
        for index, reader in enumerate(readers)
        for t in reader.tensors
    ]
    actual = [(t.name, t.type_name, t.shape, t.shard, t.offset_bytes, t.size_bytes) for t in model.tensors]
    assert actual == expected
    fields = {key: field for key, field in readers[0].fields.items() if key not in _VIRTUAL_KEYS}
    assert set(model.metadata) == set(fields)
    for key, field in fields.items():
        value, contents = model.metadata[key], field.contents()
        if isinstance(value, SkippedArray):
            assert (value.length, value.element_type) == (len(contents), field.types[1])
            assert value.length > 1024
        else:
            assert (list(value) if isinstance(value, tuple) else value) == contents
            assert not isinstance(value, tuple) or len(value) <= 1024
    assert [s.size_bytes for s in model.shards] == [s.path.stat().st_size for s in model.shards]


@pytest.mark.parametrize("variant", TINY_VARIANTS)
def test_synthetic_models(tmp_path: Path, variant: str) -> None:
    model = read_model(tiny_model(variant, tmp_path))
    _assert_same(model)
    assert model.version == 3


_INTEGERS = {
    GGUFValueType.UINT8: (0, 2**8 - 1), GGUFValueType.INT8: (-(2**7), 2**7 - 1),
    GGUFValueType.UINT16: (0, 2**16 - 1), GGUFValueType.INT16: (-(2**15), 2**15 - 1),
    GGUFValueType.UINT32: (0, 2**32 - 1), GGUFValueType.INT32: (-(2**31), 2**31 - 1),
    GGUFValueType.UINT64: (0, 2**64 - 1), GGUFValueType.INT64: (-(2**63), 2**63 - 1),
}  # fmt: skip
_SCALARS = st.one_of(
    *(st.tuples(st.just(kind), st.integers(*limits)) for kind, limits in _INTEGERS.items()),
    st.tuples(st.just(GGUFValueType.FLOAT32), st.floats(width=32, allow_nan=False)),
    st.tuples(st.just(GGUFValueType.FLOAT64), st.floats(allow_nan=False)),
    st.tuples(st.just(GGUFValueType.BOOL), st.booleans()),
    st.tuples(st.just(GGUFValueType.STRING), st.text(max_size=40)),
)
_ARRAYS = st.one_of(
    st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=20),
    st.lists(st.text(max_size=9), min_size=1, max_size=20),
    st.integers(1020, 1030).map(lambda n: list(range(n))),
    st.integers(1020, 1030).map(lambda n: [str(i) * (i % 7) for i in range(n)]),
)
_KEYS = st.text("abc.äß", min_size=1, max_size=8).map("x.{}".format)
_TENSORS = st.dictionaries(
    st.text("abc.é", min_size=1, max_size=12),
    st.tuples(
        st.sampled_from([k for k in GGMLQuantizationType if k.name[0] in "FQIMTB"]),
        st.integers(1, 3),
        st.lists(st.integers(1, 4), max_size=3),
    ),
    max_size=6,
)


@settings(max_examples=60)
@given(
    scalars=st.dictionaries(_KEYS, _SCALARS, max_size=8),
    arrays=st.dictionaries(_KEYS.map("{}[]".format), _ARRAYS, max_size=4),
    tensors=_TENSORS,
    alignment=st.sampled_from([8, 32, 256, 4096]),
)
def test_any_file_the_package_writes(
    scalars: dict[str, tuple[GGUFValueType, int | float | bool | str]],
    arrays: dict[str, list[int] | list[str]],
    tensors: dict[str, tuple[GGMLQuantizationType, int, list[int]]],
    alignment: int,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"
        writer = GGUFWriter(path, "llama")
        writer.add_custom_alignment(alignment)
        for key, (kind, value) in scalars.items():
            writer.add_key_value(key, value, kind)
        for key, values in arrays.items():
            writer.add_array(key, values)
        for name, (kind, blocks, rest) in tensors.items():
            data = np.zeros((*rest, blocks * GGML_QUANT_SIZES[kind][1]), np.uint8)
            writer.add_tensor(name, data, raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        model = read_model(path)
        _assert_same(model)
        assert model.shards[0].alignment_bytes == alignment


def test_split_by_the_package(tmp_path: Path) -> None:
    metadata = {"general.name": "Split", "llama.block_count": 2}
    files = write_gguf(tmp_path / "big é.gguf", metadata=metadata, tensors_per_shard=2)
    model = read_model(files[0])
    _assert_same(model)
    assert [shard.path for shard in model.shards] == list(files)
    assert [t.shard for t in model.tensors] == [0, 0, 1]
    assert model.text("general.name") == "Split"
    assert model.size_bytes == sum(file.stat().st_size for file in files)


def test_version_2_is_read_alike(tmp_path: Path) -> None:
    (path,) = write_gguf(tmp_path / "model.gguf")
    newer = read_model(path)
    content = bytearray(path.read_bytes())
    content[4:8] = struct.pack("<I", 2)
    path.write_bytes(content)
    older = read_model(path)
    assert older.version == 2
    assert older.tensors == newer.tensors


def test_type_that_the_package_lacks(tmp_path: Path) -> None:
    # ggml's Q2_0: 64 elements in a half-precision scale and 16 bytes
    path = tmp_path / "q2.gguf"
    path.write_bytes(RawGguf(tensors=(RawTensor(shape=(128, 3), type_number=42),)).content())
    (tensor,) = read_model(path).tensors
    assert (tensor.type_name, tensor.size_bytes) == ("Q2_0", 2 * 3 * 18)


def test_text_that_is_no_utf8_does_not_stop_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "bytes.gguf"
    path.write_bytes(RawGguf((entry("a", 8, struct.pack("<Q", 2) + b"\xffx"),)).content())
    assert read_model(path).metadata["a"] == "\N{REPLACEMENT CHARACTER}x"


def _write_vocabulary(path: Path, size: int) -> None:
    tokens = b"".join(struct.pack("<Q", i % 13) + b"tokentokentoken"[: i % 13] for i in range(size))
    array = struct.pack("<IQ", 8, size) + tokens
    scores = struct.pack("<IQ", 6, size) + bytes(4 * size)
    path.write_bytes(
        RawGguf(
            (entry("tokens", 9, array), entry("scores", 9, scores), entry("end", 4, b"\7\0\0\0"))
        ).content()
    )


def test_vocabulary_of_a_quarter_million_is_stepped_over_quickly(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.gguf"
    _write_vocabulary(path, 250_000)
    begun = time.process_time()
    model = read_model(path)
    assert time.process_time() - begun < 0.5
    assert model.metadata == {
        "tokens": SkippedArray(250_000, 8), "scores": SkippedArray(250_000, 6), "end": 7,
    }  # fmt: skip
    assert model.tensors[0].offset_bytes + 1024 == path.stat().st_size


def test_texts_longer_than_a_block_are_stepped_over(tmp_path: Path) -> None:
    path = tmp_path / "long.gguf"
    lengths = [3 << 20 if i == 700 else i % 3 for i in range(1100)]
    tokens = b"".join(struct.pack("<Q", n) + bytes(n) for n in lengths)
    path.write_bytes(
        RawGguf((entry("tokens", 9, struct.pack("<IQ", 8, 1100) + tokens), entry("end", 0, b"\5"))).content()
    )
    assert read_model(path).metadata == {"tokens": SkippedArray(1100, 8), "end": 5}


def _whole(path: Path) -> bytes:
    """A small MoE model with every kind of metadata in it."""
    write_gguf(
        path,
        {
            "token_embd.weight": ("F32", (32, 8)),
            "blk.0.ffn_up_exps.weight": ("Q8_0", (32, 32, 2)),
            "blk.0.ffn_down_exps.weight": ("Q4_0", (32, 32, 2)),
        },
        {
            "general.name": "Small", "qwen3moe.block_count": 1, "qwen3moe.expert_count": 2,
            "qwen3moe.expert_used_count": 1, "qwen3moe.attention.head_count": [4],
            "qwen3moe.rope.freq_base": 10000.0, "tokenizer.ggml.tokens": [str(i) for i in range(1100)],
        },
        "qwen3moe",
    )  # fmt: skip
    return path.read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    folder = tmp_path_factory.mktemp("damage")
    return folder / "damaged.gguf", _whole(folder / "whole.gguf")


@settings(max_examples=300)
@given(data=st.data())
def test_any_truncation_is_named_or_harmless(whole: tuple[Path, bytes], data: st.DataObject) -> None:
    path, content = whole
    path.write_bytes(content)
    complete = read_model(path)
    length = data.draw(st.integers(0, len(content) - 1))
    os.truncate(path, length)
    try:
        model = read_model(path)
    except ModelFileError:
        return
    assert (model.tensors, model.metadata) == (complete.tensors, complete.metadata)
    assert max(t.offset_bytes + t.size_bytes for t in model.tensors) <= length


@settings(max_examples=400)
@given(data=st.data())
def test_any_damage_is_an_engine_error_or_a_model(whole: tuple[Path, bytes], data: st.DataObject) -> None:
    path, content = whole
    header_bytes = min(t.offset_bytes for t in _read(path, content).tensors)
    # the vocabulary is most of the header: aim at the structure before and behind it more often
    place = st.one_of(
        st.integers(0, 500),
        st.integers(header_bytes - 300, header_bytes - 1),
        st.integers(0, header_bytes - 1),
    )
    damaged = bytearray(content)
    for at, value in data.draw(st.lists(st.tuples(place, st.integers(0, 255)), min_size=1, max_size=4)):
        damaged[at] = value
    begun = time.process_time()
    with suppress(EngineError):  # named or harmless: both are right, anything else escapes
        model = _read(path, bytes(damaged))
        model_facts(model, expert_layout(model))
    assert time.process_time() - begun < 1


def _read(path: Path, content: bytes) -> ModelFile:
    path.write_bytes(content)
    return read_model(path)
