"""Names and sizes of ggml's tensor types."""

from __future__ import annotations

from math import prod
from pathlib import Path

from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

from engine.errors import ModelFileError
from engine.gguf.file_faults import NEW_COPY

_MOST_ELEMENTS = 1 << 48  # far above any model; keeps a damaged shape from becoming an absurd size


def type_layout(path: Path, tensor: str, type_number: int, shape: tuple[int, ...]) -> tuple[str, int]:
    """(type name, size in bytes) of a tensor; ModelFileError if unknown or impossible."""
    try:
        kind = GGMLQuantizationType(type_number)
    except ValueError as error:
        raise ModelFileError(
            f"{path.name}: the tensor “{tensor}” has the unknown type {type_number}.",
            "The file may be newer than this program; update it, or get another quantisation.",
        ) from error
    block_elements, block_bytes = GGML_QUANT_SIZES[kind]
    elements = prod(shape)
    if not 0 < elements < _MOST_ELEMENTS or shape[0] % block_elements if shape else False:
        raise ModelFileError(
            f"{path.name}: the tensor “{tensor}” has the impossible shape {list(shape)} for {kind.name}.",
            NEW_COPY,
        )
    return kind.name, elements // block_elements * block_bytes
