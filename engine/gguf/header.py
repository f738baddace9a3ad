"""Header, metadata and tensor table of one GGUF file; reading stops where the weights begin.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (versions 2 and 3, little endian).
What llama.cpp would reject without saying why is rejected here with a reason.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from engine.errors import ModelFileError
from engine.gguf.byte_stream import ByteStream
from engine.gguf.file_faults import (
    NEW_COPY,
    START_BYTES,
    check_place,
    check_start,
    shown,
    truncated_data,
    unreadable,
)
from engine.gguf.model_file import MetadataValue, Shard, TensorInfo
from engine.gguf.tensor_types import type_layout
from engine.gguf.value_reader import read_text, read_value

_VERSIONS = (2, 3)
_DEFAULT_ALIGNMENT_BYTES = 32
# ggml's own limits
_MOST_DIMENSIONS = 4
_LONGEST_NAME_BYTES = 63
# far above any model: a damaged count must not make us loop
_MOST_METADATA = 1 << 16
_MOST_TENSORS = 1 << 16


@dataclass(frozen=True, slots=True)
class Header:
    """What one file says; `tensors` carry `index` as their shard."""

    version: int
    metadata: Mapping[str, MetadataValue]
    shard: Shard
    tensors: tuple[TensorInfo, ...]

    def number(self, key: str) -> int:
        """Integer metadata, 0 if absent."""
        value = self.metadata.get(key, 0)
        return value if isinstance(value, int) else 0


@dataclass(frozen=True, slots=True)
class _TableRow:
    name: str
    shape: tuple[int, ...]
    type_number: int
    offset_bytes: int


def read_header(path: Path, index: int = 0) -> Header:
    """The header of the file that is shard `index`; raises ModelFileError that names what is wrong."""
    try:
        check_place(path)
        with path.open("rb") as file:
            check_start(path, file.read(START_BYTES))
            file.seek(0)
            size = os.fstat(file.fileno()).st_size
            return _read(ByteStream(file, path, size), path, index, size)
    except OSError as error:
        raise unreadable(path, error) from error


def _read(stream: ByteStream, path: Path, index: int, size_bytes: int) -> Header:
    stream.skip(4)  # the magic
    version = stream.unsigned(4)
    if version not in _VERSIONS:
        raise _version_fault(path, version)
    n_tensors, n_metadata = stream.unsigned(8), stream.unsigned(8)
    metadata = _read_metadata(stream, n_metadata)
    alignment = _alignment(path, metadata)
    rows = _read_table(stream, n_tensors)
    data_start = -(-stream.position // alignment) * alignment
    tensors = _placed(path, rows, index, data_start, alignment)
    _refuse_truncated(path, tensors, size_bytes)
    return Header(version, MappingProxyType(metadata), Shard(path, size_bytes, alignment), tensors)


def _read_metadata(stream: ByteStream, count: int) -> dict[str, MetadataValue]:
    stream.expect(count, 13, _MOST_METADATA, "metadata entries")
    metadata: dict[str, MetadataValue] = {}
    for _ in range(count):
        key = read_text(stream)
        if not key or key in metadata:
            raise stream.damaged(f"the metadata key “{key[:80]}” appears twice" if key else "a key is empty")
        metadata[key] = read_value(stream, stream.unsigned(4))
    return metadata


def _alignment(path: Path, metadata: dict[str, MetadataValue]) -> int:
    alignment = metadata.get("general.alignment", _DEFAULT_ALIGNMENT_BYTES)
    if type(alignment) is not int or alignment <= 0 or alignment & (alignment - 1):
        raise ModelFileError(
            f"{shown(path)}: the alignment of the weights is not a power of two (general.alignment).",
            NEW_COPY,
            repr(alignment)[:80],
        )
    return alignment


def _read_table(stream: ByteStream, count: int) -> list[_TableRow]:
    stream.expect(count, 24, _MOST_TENSORS, "tensors")
    return [_read_row(stream) for _ in range(count)]


def _read_row(stream: ByteStream) -> _TableRow:
    length = stream.unsigned(8)
    if length > _LONGEST_NAME_BYTES:
        raise stream.damaged(f"a tensor's name claims to be {length} bytes long")
    name = stream.take(length).decode(errors="replace")
    n_dimensions = stream.unsigned(4)
    if n_dimensions > _MOST_DIMENSIONS:
        raise stream.damaged(f"the tensor “{name}” has {n_dimensions} dimensions")
    shape = tuple(stream.unsigned(8) for _ in range(n_dimensions))
    return _TableRow(name, shape, stream.unsigned(4), stream.unsigned(8))


def _placed(
    path: Path, rows: list[_TableRow], index: int, data_start: int, alignment: int
) -> tuple[TensorInfo, ...]:
    """The tensors with absolute offsets; they must follow each other without gaps, as llama.cpp demands."""
    tensors = []
    expected = 0
    for row in rows:
        type_name, size = type_layout(path, row.name, row.type_number, row.shape)
        if row.offset_bytes != expected:
            raise ModelFileError(
                f"{shown(path)}: the header is damaged: the tensor “{row.name}” does not begin where the one "
                "before it ends.",
                NEW_COPY,
                f"offset {row.offset_bytes}, expected {expected}",
            )
        offset = data_start + row.offset_bytes
        tensors.append(TensorInfo(row.name, type_name, row.shape, index, offset, size))
        expected += -(-size // alignment) * alignment
    return tuple(tensors)


def _refuse_truncated(path: Path, tensors: tuple[TensorInfo, ...], size_bytes: int) -> None:
    ends = [tensor.offset_bytes + tensor.size_bytes for tensor in tensors]
    for tensor, end in zip(tensors, ends, strict=True):
        if end > size_bytes:
            raise truncated_data(path, tensor.name, size_bytes, ends[-1])


def _version_fault(path: Path, version: int) -> ModelFileError:
    swapped = int.from_bytes(version.to_bytes(4, "little"), "big")
    if swapped in range(1, max(_VERSIONS) + 1):
        return ModelFileError(
            f"{shown(path)} is a big-endian GGUF file, made for another kind of processor.",
            "Get the little-endian file.",
        )
    if version == 1:
        return ModelFileError(
            f"{shown(path)} is of GGUF version 1, which is too old.", "Get a newer file of this model."
        )
    return ModelFileError(
        f"{shown(path)} is of GGUF version {version}; versions 2 and 3 are supported.",
        "Update this program, or get another file of this model.",
    )
