"""Reading and re-pointing `ggml_tensor` structs. Every offset of ggml's structs is in this module.

Offsets are those of the ggml inside llama-cpp-python 0.3.36; `abi.check` proves them at start-up.
All addresses are plain ints; a tensor lives as long as its model or graph.
"""

from __future__ import annotations

import ctypes as c
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.native.library import ggml_base

TENSOR_SIZE = 336
TYPE, BUFFER, NE, NB, OP, SRC, DATA, NAME, EXTRA = 0, 8, 16, 48, 80, 152, 248, 256, 320

BUFFER_INTERFACE_INIT_TENSOR, BUFFER_INTERFACE_SET_TENSOR = 2 * 8, 4 * 8
BUFFER_TYPE, BUFFER_CONTEXT, BUFFER_SIZE = 88, 96, 104
BUFFER_TYPE_ALLOC_BUFFER = 8

BUFFER_TYPE_GET_NAME, BUFFER_TYPE_ALLOC_BUFFER = 0, 8

REGISTRY_GET_PROC_ADDRESS = 8 + 3 * 8

# The address space as one array: an index is twice as quick as a new ctypes object, and the eval callback
# reads one word of every node of every pass. Index with (address >> 2) of a live object only.
WORDS = (c.c_int32 * (1 << 45)).from_address(0)
_MOST_SOURCES, _F32, _I32, _NO_OPERATION = 10, 0, 26, 0
_Int64x4 = c.c_int64 * 4
_Size4 = c.c_size_t * 4


def name_of(tensor: int) -> bytes:
    """The tensor's name; called for every graph node, so nothing but one copy."""
    return c.string_at(tensor + NAME)


def shape_of(tensor: int) -> tuple[int, ...]:
    """Elements per dimension, fastest first (4 numbers)."""
    return tuple(_Int64x4.from_address(tensor + NE))


def strides_of(tensor: int) -> tuple[int, ...]:
    """Bytes per step of each dimension (4 numbers)."""
    return tuple(_Size4.from_address(tensor + NB))


def operation_of(tensor: int) -> bytes:
    """Name of the node's operation, for example b"MUL_MAT_ID"."""
    return bytes(ggml_base().ggml_op_desc(tensor))


def operation_code_of(tensor: int) -> int:
    """Number of the node's operation; far cheaper to read than its name."""
    return WORDS[(tensor + OP) >> 2]


def disarm(node: int) -> int:
    """Make a graph node compute nothing; returns what `arm` wants."""
    operation = WORDS[(node + OP) >> 2]
    WORDS[(node + OP) >> 2] = 0  # GGML_OP_NONE
    return operation


def arm(node: int, operation: int) -> None:
    """Undo `disarm`."""
    WORDS[(node + OP) >> 2] = operation


def data_of(tensor: int) -> int:
    """Address of the tensor's data, 0 if it has none."""
    return c.c_void_p.from_address(tensor + DATA).value or 0


def set_data(tensor: int, data: int) -> None:
    """Let the tensor's data be at this address."""
    c.c_void_p.from_address(tensor + DATA).value = data


def source_of(tensor: int, index: int) -> int:
    """Address of the node's operand `index`, 0 if it has none."""
    return c.c_void_p.from_address(tensor + SRC + 8 * index).value or 0


def sources_of(tensor: int) -> list[int]:
    """Addresses of all the node's operands, 0 where it has none."""
    return list((c.c_size_t * _MOST_SOURCES).from_address(tensor + SRC))


def is_int32_input(tensor: int) -> bool:
    """Whether this is a vector of int32 in the host's memory that no node computes."""
    if not tensor or operation_code_of(tensor) != _NO_OPERATION or not data_of(tensor):
        return False
    if is_on_device(tensor):
        return False
    return WORDS[(tensor + TYPE) >> 2] == _I32 and shape_of(tensor)[1:] == (1, 1, 1)


def is_host_float32(tensor: int) -> bool:
    """Whether its data are float32 in memory that the processor can address."""
    return WORDS[(tensor + TYPE) >> 2] == _F32 and bool(data_of(tensor)) and not is_on_device(tensor)


def first_row_bytes(tensor: int) -> bytes:
    """Copy of the first row of an int32 matrix in host memory; empty if it has no rows."""
    columns, rows = (c.c_int64 * 2).from_address(tensor + NE)
    return c.string_at(data_of(tensor), 4 * columns) if rows else b""


def int32_rows(tensor: int) -> NDArray[np.int32]:
    """Writable view, shape (rows, columns), of a host int32 matrix whose rows may be strided."""
    columns, rows = (c.c_int64 * 2).from_address(tensor + NE)
    if rows == 0:  # a pass that wants no logits computes nothing in its last layer
        return np.empty((0, columns), np.int32)
    row_stride = c.c_size_t.from_address(tensor + NB + 8).value
    size = (rows - 1) * row_stride + 4 * columns
    memory = (c.c_char * size).from_address(data_of(tensor))
    # ctypes arrays are buffers; numpy's stubs don't know it
    return np.ndarray((rows, columns), np.int32, memory, 0, (row_stride, 4))  # type: ignore[arg-type]


def is_on_device(tensor: int) -> bool:
    """Whether its data is in memory that only its device can address."""
    buffer = c.c_void_p.from_address(tensor + BUFFER).value
    return buffer is not None and not ggml_base().ggml_backend_buffer_is_host(buffer)


def fetch_int32_rows(tensor: int) -> NDArray[np.int32]:
    """Writable copy of an int32 matrix on a device, shape and strides as `int32_rows`; see `store_rows`."""
    columns, rows = (c.c_int64 * 2).from_address(tensor + NE)
    if rows == 0:
        return np.empty((0, columns), np.int32)
    row_stride = c.c_size_t.from_address(tensor + NB + 8).value
    memory = np.empty((rows - 1) * row_stride + 4 * columns, np.uint8)
    ggml_base().ggml_backend_tensor_get(tensor, memory.ctypes.data, 0, memory.size)
    return np.ndarray((rows, columns), np.int32, memory.data, 0, (row_stride, 4))


def store_rows(tensor: int, rows: NDArray[np.int32]) -> None:
    """Write back what `fetch_int32_rows` gave, changed."""
    if len(rows):
        size = (len(rows) - 1) * rows.strides[0] + 4 * rows.shape[1]
        ggml_base().ggml_backend_tensor_set(tensor, rows.ctypes.data, 0, size)


def fetch_float32_rows(tensor: int, rows: int) -> NDArray[np.float32]:
    """Copy of a contiguous float32 tensor on a device, shape (rows, elements per row)."""
    values = np.empty((rows, int(np.prod(shape_of(tensor))) // rows), np.float32)
    ggml_base().ggml_backend_tensor_get(tensor, values.ctypes.data, 0, values.nbytes)
    return values


def fetch_float32(tensor: int) -> float:
    """The first number of a float32 tensor, wherever it is."""
    value = c.c_float()
    ggml_base().ggml_backend_tensor_get(tensor, c.addressof(value), 0, c.sizeof(value))
    return value.value


def store_bytes(tensor: int, offset: int, address: int, size: int) -> None:
    """Copy host memory to `offset` of the tensor's data, wherever that is; any thread. Returns when done."""
    ggml_base().ggml_backend_tensor_set(tensor, address, offset, size)


def float32_rows(tensor: int, rows: int) -> NDArray[np.float32]:
    """View, shape (rows, elements per row), of a contiguous host float32 tensor."""
    elements = int(np.prod(shape_of(tensor)))
    memory = (c.c_float * elements).from_address(data_of(tensor))
    return np.ctypeslib.as_array(memory).reshape(rows, -1)


@dataclass(frozen=True, slots=True)
class SlotView:
    """How an expert tensor sees its arena: slot s is at `data + s * stride_bytes`.

    `buffer`: ggml's handle of a device's memory; 0 where the arena is in the memory the tensor was loaded to.
    """

    data: int
    slots: int
    stride_bytes: int
    buffer: int = 0


def point_at(tensor: int, data: int) -> None:
    """Let the tensor's data begin at address `data`."""
    c.c_void_p.from_address(tensor + DATA).value = data


def point_at_slots(tensor: int, dimension: int, view: SlotView) -> None:
    """Make `dimension` (2 for weights, 1 for biases) of the tensor count slots instead of experts."""
    set_data(tensor, view.data)
    if view.buffer:
        c.c_void_p.from_address(tensor + BUFFER).value = view.buffer
    _Int64x4.from_address(tensor + NE)[dimension] = view.slots
    strides = _Size4.from_address(tensor + NB)
    strides[dimension] = view.stride_bytes
    for higher in range(dimension + 1, 4):
        strides[higher] = view.stride_bytes * view.slots


class TensorCopy:
    """A tensor struct of our own, equal to another's at first; `address` is valid while it lives."""

    def __init__(self, tensor: int) -> None:
        self._struct = c.create_string_buffer(c.string_at(tensor, TENSOR_SIZE), TENSOR_SIZE)

    @property
    def address(self) -> int:
        return c.addressof(self._struct)


def set_kernels(tensor: int, buffer: int, extra: int) -> None:
    """What decides which kernels compute with the tensor: its buffer, and what is in its `extra` field."""
    c.c_void_p.from_address(tensor + BUFFER).value = buffer
    c.c_void_p.from_address(tensor + EXTRA).value = extra


def keep_rows(tensor: int, rows: int) -> None:
    """Let a matrix have its first `rows` rows only."""
    _Int64x4.from_address(tensor + NE)[1] = rows
    strides = _Size4.from_address(tensor + NB)
    strides[2] = strides[3] = strides[1] * rows
