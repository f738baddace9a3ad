"""Names and sizes of ggml's tensor types."""

from __future__ import annotations

from math import prod
from pathlib import Path

from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

from engine.errors import ModelFileError
from engine.gguf.file_faults import NEW_COPY, shown

_MOST_ELEMENTS = 1 << 48  # far above any model; keeps a damaged shape from becoming an absurd size
# type number -> (name, elements per block, bytes per block)
_LAYOUTS: dict[int, tuple[str, int, int]] = {
    42: ("Q2_0", 64, 18),  # ggml knows it, the gguf package does not yet
    **{int(kind): (kind.name, *GGML_QUANT_SIZES[kind]) for kind in GGMLQuantizationType},
}

_NUMBERS = {name: number for number, (name, _, _) in _LAYOUTS.items()}


def type_number(name: str) -> int:
    """ggml's number of a type by the name that `TensorInfo` has."""
    return _NUMBERS[name]


def type_layout(path: Path, tensor: str, type_number: int, shape: tuple[int, ...]) -> tuple[str, int]:
    """(type name, size in bytes) of a tensor; raises ModelFileError for unknown types, impossible shapes."""
    layout = _LAYOUTS.get(type_number)
    if layout is None:
        raise ModelFileError(
            f"{shown(path)}: the tensor “{tensor}” has the unknown type {type_number}.",
            "The file may be newer than this program: update it, or get another quantisation.",
        )
    name, block_elements, block_bytes = layout
    elements, row = prod(shape), shape[0] if shape else 1
    if not 0 < elements < _MOST_ELEMENTS or row % block_elements:
        raise ModelFileError(
            f"{shown(path)}: the tensor “{tensor}” has the impossible shape {list(shape)} for {name}.",
            NEW_COPY,
        )
    return name, elements // block_elements * block_bytes
