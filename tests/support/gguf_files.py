"""Small GGUF files for tests: valid ones by the gguf package, broken ones by hand."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFWriter

MetadataIn = int | float | str | bool | Sequence[int] | Sequence[float] | Sequence[str] | Sequence[bool]
TensorsIn = Mapping[str, tuple[str, Sequence[int]]]

SMALL_TENSORS: TensorsIn = {
    "token_embd.weight": ("F32", (32, 8)),
    "blk.0.attn_norm.weight": ("F32", (32,)),
    "output.weight": ("Q8_0", (32, 8)),
}


def write_gguf(
    path: Path,
    tensors: TensorsIn = SMALL_TENSORS,
    metadata: Mapping[str, MetadataIn] | None = None,
    architecture: str = "llama",
    tensors_per_shard: int = 0,
) -> tuple[Path, ...]:
    """Files of a valid model. Shapes in ggml order (fastest first); metadata keys are complete, values of
    type int become uint32, float float32."""
    writer = GGUFWriter(path, architecture, split_max_tensors=tensors_per_shard)
    for key, value in (metadata or {}).items():
        _add(writer, key, value)
    random = np.random.default_rng(0)
    for name, (type_name, shape) in tensors.items():
        kind = GGMLQuantizationType[type_name]
        block_elements, block_bytes = GGML_QUANT_SIZES[kind]
        row_bytes = shape[0] // block_elements * block_bytes
        data = random.integers(0, 100, (*reversed(shape[1:]), row_bytes), np.uint8)
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return tuple(sorted(path.parent.glob(f"{path.stem}-*-of-*.gguf"))) if tensors_per_shard else (path,)


def _add(writer: GGUFWriter, key: str, value: MetadataIn) -> None:
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        writer.add_array(key, value)


def text(value: str) -> bytes:
    """A string as it lies in a header."""
    return struct.pack("<Q", len(value.encode())) + value.encode()


def entry(key: str, value_type: int, payload: bytes) -> bytes:
    """A metadata entry as it lies in a header."""
    return text(key) + struct.pack("<I", value_type) + payload


@dataclass(frozen=True, slots=True)
class RawTensor:
    """A row of the tensor table; the fields may contradict each other."""

    name: str = "t"
    shape: tuple[int, ...] = (32,)
    type_number: int = 0
    offset_bytes: int = 0

    def row(self) -> bytes:
        shape = struct.pack(f"<I{len(self.shape)}Q", len(self.shape), *self.shape)
        return text(self.name) + shape + struct.pack("<IQ", self.type_number, self.offset_bytes)


@dataclass(frozen=True, slots=True)
class RawGguf:
    """A file by hand; counts default to the truth."""

    metadata: tuple[bytes, ...] = (entry("general.architecture", 8, text("llama")),)
    tensors: tuple[RawTensor, ...] = (RawTensor(),)
    data_bytes: int = 1024
    version: int = 3
    n_tensors: int | None = None
    n_metadata: int | None = None
    order: str = field(default="<")

    def content(self) -> bytes:
        """The whole file, weights aligned to 32 bytes."""
        n_tensors = len(self.tensors) if self.n_tensors is None else self.n_tensors
        n_metadata = len(self.metadata) if self.n_metadata is None else self.n_metadata
        head = b"GGUF" + struct.pack(f"{self.order}IQQ", self.version, n_tensors, n_metadata)
        head += b"".join(self.metadata) + b"".join(tensor.row() for tensor in self.tensors)
        return head + bytes(-len(head) % 32 + self.data_bytes)


def _alignment(value: int) -> RawGguf:
    return RawGguf((entry("general.alignment", 4, struct.pack("<I", value)),))


_CONTENTS: dict[str, tuple[str, bytes]] = {
    "empty": ("empty.gguf", b""),
    "git_lfs_pointer": (
        "pointer.gguf",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 4570000000\n",
    ),
    "web_page": ("page.gguf", b"\n<!DOCTYPE html>\n<html><body>Please log in</body></html>"),
    "server_message": ("message.gguf", b'{"error":"Access to this model is restricted"}'),
    "zip": ("zip.gguf", b"PK\x03\x04" + bytes(60)),
    "pickle": ("pickle.gguf", b"\x80\x02}q\x00(X" + bytes(60)),
    "safetensors": ("tensors.gguf", struct.pack("<Q", 40) + b'{"a":{"dtype":"F32","shape":[1]}}' + bytes(9)),
    "old_ggml": ("ggjt.gguf", struct.pack("<II", 0x67676A74, 3) + bytes(60)),
    "unknown_kind": ("noise.gguf", b"RIFF\x10\x20\x30" + bytes(60)),
    "zeros": ("zeros.gguf", bytes(4096)),
    "unfinished_download": ("model.gguf.crdownload", b"\x01\x02\x03\x04" * 20),
    "too_short": ("short.gguf", b"GG"),
    "big_endian": ("big.gguf", RawGguf((), (), order=">").content()),
    "version_1": ("one.gguf", RawGguf(version=1).content()),
    "future_version": ("future.gguf", RawGguf(version=9).content()),
    "alignment_zero": ("alignment0.gguf", _alignment(0).content()),
    "alignment_odd": ("alignment48.gguf", _alignment(48).content()),
    "duplicate_tensor": (
        "twice.gguf", RawGguf(tensors=(RawTensor(), RawTensor(offset_bytes=128))).content(),
    ),
    "duplicate_key": ("keys.gguf", RawGguf((entry("a", 0, b"\1"), entry("a", 0, b"\2"))).content()),
    "nested_array": ("nested.gguf", RawGguf((entry("a", 9, struct.pack("<IQ", 9, 1)),)).content()),
    "unknown_value_type": ("value.gguf", RawGguf((entry("a", 77, b""),)).content()),
    "unknown_tensor_type": ("type.gguf", RawGguf(tensors=(RawTensor(type_number=999),)).content()),
    "broken_rows": ("rows.gguf", RawGguf(tensors=(RawTensor(shape=(33,), type_number=8),)).content()),
    "misplaced_tensor": ("gap.gguf", RawGguf(tensors=(RawTensor(offset_bytes=64),)).content()),
    "absurd_tensor_count": ("tensors.count.gguf", RawGguf(n_tensors=1 << 60).content()),
    "absurd_metadata_count": ("metadata.count.gguf", RawGguf(n_metadata=1 << 60).content()),
    "absurd_text_length": (
        "text.gguf", RawGguf((entry("a", 8, struct.pack("<Q", 1 << 62)),)).content(),
    ),
    "absurd_array_length": (
        "array.gguf", RawGguf((entry("a", 9, struct.pack("<IQ", 8, 1 << 61)),)).content(),
    ),
    "absurd_dimensions": ("dimensions.gguf", RawGguf(tensors=(RawTensor(shape=(1,) * 200),)).content()),
    "absurd_shape": ("shape.gguf", RawGguf(tensors=(RawTensor(shape=(1 << 40, 1 << 40)),)).content()),
    "absurd_name": ("name.gguf", RawGguf(tensors=(RawTensor("n" * 5000),)).content()),
}  # fmt: skip


def wrong_files(directory: Path) -> dict[str, Path]:
    """One file per fault that reading a model must name; `directory` should be empty.

    "no_permission" is absent where files can't be protected from this user (root, some file systems).
    """
    paths = {"missing": directory / "missing.gguf", "directory": directory / "folder.gguf"}
    paths["directory"].mkdir()
    for fault, (name, content) in _CONTENTS.items():
        paths[fault] = directory / name
        paths[fault].write_bytes(content)
    (whole,) = write_gguf(directory / "whole.gguf", metadata={"llama.block_count": 1})
    content = whole.read_bytes()
    for fault, length in (("truncated_header", 100), ("truncated_data", len(content) - 300)):
        paths[fault] = directory / f"{fault}.gguf"
        paths[fault].write_bytes(content[:length])
    whole.chmod(0)
    if not os.access(whole, os.R_OK):
        paths["no_permission"] = whole
    return paths | _wrong_shards(directory)


def _wrong_shards(directory: Path) -> dict[str, Path]:
    lost = write_gguf(directory / "lost.gguf", tensors_per_shard=1)
    lost[1].unlink()
    whole = write_gguf(directory / "parts.gguf", tensors_per_shard=1)
    renamed = directory / "renamed.gguf"
    renamed.write_bytes(whole[0].read_bytes())
    mixed = write_gguf(directory / "mixed.gguf", tensors_per_shard=1)
    mixed[2].write_bytes(mixed[1].read_bytes())
    cut = write_gguf(directory / "cut.gguf", tensors_per_shard=1)
    cut[2].write_bytes(cut[2].read_bytes()[:-64])
    return {
        "missing_shard": lost[0],
        "second_shard": whole[1],
        "renamed_shard": renamed,
        "foreign_shard": mixed[0],
        "truncated_shard": cut[0],
    }
