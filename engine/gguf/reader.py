"""Reads header, metadata and tensor table of a GGUF model: one file or all its shards, never a weight.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (versions 2 and 3, little endian).
"""

from __future__ import annotations

import os
from pathlib import Path
from types import MappingProxyType

from engine.errors import ModelFileError
from engine.gguf.byte_stream import ByteStream
from engine.gguf.file_faults import NEW_COPY, check_start, truncated_data
from engine.gguf.model_file import MetadataValue, ModelFile, Shard, TensorInfo
from engine.gguf.shard_names import shard_paths
from engine.gguf.tensor_types import type_layout
from engine.gguf.value_reader import read_text, read_value

_VERSIONS = (2, 3)
_DEFAULT_ALIGNMENT = 32
_MOST_DIMENSIONS = 4


def read_model(path: Path) -> ModelFile:
    """All shards of the model at `path`; raises ModelFileError that names what is wrong and what to do."""
    first = _Header(path)
    paths = shard_paths(path, first.number("split.no"), first.number("split.count"))
    headers = [first, *(_Header(other) for other in paths[1:])]
    tensors: list[TensorInfo] = []
    for index, header in enumerate(headers):
        tensors.extend(header.tensors(index))
    _refuse_duplicates(tensors)
    return ModelFile(
        path,
        first.version,
        tuple(header.shard for header in headers),
        MappingProxyType(first.metadata),
        tuple(tensors),
    )


class _Header:
    """One file's header; reading stops where the weights begin."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._table: list[tuple[str, int, tuple[int, ...], int]] = []
        try:
            check_start(path)
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                self._read(ByteStream(file, path, size))
        except OSError as error:
            raise ModelFileError(
                f"{path.name} can't be read ({error.strerror}).", "Check the disk and the file's permissions."
            ) from error
        self.shard = Shard(path, size, self._alignment())
        self._check_data(size)

    def number(self, key: str) -> int:
        """Integer metadata, 0 if absent."""
        value = self.metadata.get(key, 0)
        return value if isinstance(value, int) else 0

    def _read(self, stream: ByteStream) -> None:
        stream.take(4)  # the magic, which check_start has seen
        self.version = stream.unsigned(4)
        if self.version not in _VERSIONS:
            raise ModelFileError(f"{self._path.name}: {_version_fault(self.version)}.", NEW_COPY)
        n_tensors, n_metadata = stream.unsigned(8), stream.unsigned(8)
        # the least a tensor or a key can take bounds the counts, so a damaged one can't make us loop
        stream.expect(n_metadata, 12, "metadata entries")
        self.metadata: dict[str, MetadataValue] = {}
        for _ in range(n_metadata):
            key = read_text(stream)
            self.metadata[key] = read_value(stream, stream.unsigned(4))
        stream.expect(n_tensors, 24, "tensors")
        for _ in range(n_tensors):
            self._table.append(_read_tensor(stream))
        self._header_bytes = stream.position

    def _alignment(self) -> int:
        alignment = self.metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
        if not isinstance(alignment, int) or alignment <= 0 or alignment & (alignment - 1):
            raise ModelFileError(
                f"{self._path.name}: the alignment {alignment!r} is not a power of two.", NEW_COPY
            )
        return alignment

    def _data_start(self) -> int:
        alignment = self.shard.alignment_bytes
        return -(-self._header_bytes // alignment) * alignment

    def tensors(self, shard: int) -> list[TensorInfo]:
        """The file's tensors with absolute offsets."""
        start = self._data_start()
        infos = []
        for name, type_number, shape, offset in self._table:
            type_name, size = type_layout(self._path, name, type_number, shape)
            infos.append(TensorInfo(name, type_name, shape, shard, start + offset, size))
        return infos

    def _check_data(self, size: int) -> None:
        last = max(self.tensors(0), key=lambda t: t.offset_bytes + t.size_bytes, default=None)
        if last is not None and last.offset_bytes + last.size_bytes > size:
            raise truncated_data(self._path, last.name, size, last.offset_bytes + last.size_bytes)


def _read_tensor(stream: ByteStream) -> tuple[str, int, tuple[int, ...], int]:
    name = read_text(stream)
    n_dimensions = stream.unsigned(4)
    if n_dimensions > _MOST_DIMENSIONS:
        raise stream.damaged(f"tensor “{name}” has {n_dimensions} dimensions")
    shape = tuple(stream.unsigned(8) for _ in range(n_dimensions))
    return name, stream.unsigned(4), shape, stream.unsigned(8)


def _version_fault(version: int) -> str:
    if version == 1:
        return "GGUF version 1 is too old to be read"
    swapped = int.from_bytes(version.to_bytes(4, "little"), "big")
    if swapped in _VERSIONS:
        return "the file is big-endian, which this engine does not read"
    return f"GGUF version {version} is not supported (2 and 3 are)"


def _refuse_duplicates(tensors: list[TensorInfo]) -> None:
    seen: set[str] = set()
    for tensor in tensors:
        if tensor.name in seen:
            raise ModelFileError(f"The model names the tensor “{tensor.name}” twice.", NEW_COPY)
        seen.add(tensor.name)
