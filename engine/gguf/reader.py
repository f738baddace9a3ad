"""Reads what a GGUF model says about itself: one file or all its shards, never a weight."""

from __future__ import annotations

from pathlib import Path

from engine.errors import ModelFileError
from engine.gguf.file_faults import NEW_COPY, shown
from engine.gguf.header import Header, read_header
from engine.gguf.model_file import ModelFile, TensorInfo
from engine.gguf.shard_names import shard_paths


def read_model(path: Path) -> ModelFile:
    """All shards of the model at `path`; raises ModelFileError that names what is wrong and what to do.

    Reads some megabytes (the header with the vocabulary) and keeps a few hundred kilobytes.
    """
    first = read_header(path)
    paths = shard_paths(path, first.number("split.no"), first.number("split.count"))
    headers = [first]
    for index, other in enumerate(paths[1:], start=1):
        header = read_header(other, index)
        _refuse_foreign(header, index, len(paths))
        headers.append(header)
    tensors = tuple(tensor for header in headers for tensor in header.tensors)
    _refuse_duplicates(path, tensors)
    _refuse_lost(path, first, tensors)
    return ModelFile(path, first.version, tuple(h.shard for h in headers), first.metadata, tensors)


def _refuse_foreign(header: Header, index: int, count: int) -> None:
    if (header.number("split.no"), header.number("split.count")) != (index, count):
        raise ModelFileError(
            f"{shown(header.shard.path)} is not part {index + 1} of {count} of this model.",
            "Parts of different models or quantisations were mixed, or renamed: get this part again.",
        )


def _refuse_duplicates(path: Path, tensors: tuple[TensorInfo, ...]) -> None:
    seen: set[str] = set()
    for tensor in tensors:
        if tensor.name in seen:
            raise ModelFileError(f"{shown(path)}: the tensor “{tensor.name}” appears twice.", NEW_COPY)
        seen.add(tensor.name)


def _refuse_lost(path: Path, first: Header, tensors: tuple[TensorInfo, ...]) -> None:
    announced = first.number("split.tensors.count")
    if first.number("split.count") > 1 and announced and announced != len(tensors):
        raise ModelFileError(
            f"The parts of {shown(path)} hold {len(tensors)} tensors instead of {announced}.",
            "Parts of different models were mixed: get all parts from one place.",
        )
