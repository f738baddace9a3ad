"""llama.cpp's weight repacking, one matrix at a time and into any memory.

Weights laid out in groups of rows have faster kernels on the processor. Which kernel runs is decided when a
graph computes, by `src[0]->buffer->buft` and `src[0]->extra`; rewriting is the `set_tensor` of that buffer
type. It reads nothing but the tensor and the data given to it and writes nothing but the tensor's data, group
after group of rows, into as many bytes as the plain rows take (ggml/src/ggml-cpu/repack.cpp).
"""

from __future__ import annotations

import ctypes as c
from dataclasses import dataclass
from functools import cache

from engine.native import tensor
from engine.native.library import GgmlInitParams, cpu_device, cpu_registry, ggml_base, pointer_at
from engine.native.memory import PAGE

ROW_GROUP = 16  # a multiple of every group of rows that ggml interleaves (1, 4, 8 or 16)

_NAME = b"CPU_REPACK"
_USAGE_WEIGHTS = 1
_EXTRA_TYPES = c.CFUNCTYPE(c.POINTER(c.c_void_p), c.c_void_p)
_INIT_TENSOR = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_void_p)
_SET_TENSOR = c.CFUNCTYPE(None, c.c_void_p, c.c_void_p, c.c_void_p, c.c_size_t, c.c_size_t)


@dataclass(frozen=True, slots=True)
class RepackEntries:
    """Addresses: the buffer type, and the `init_tensor` and `set_tensor` of its buffers."""

    buffer_type: int
    init_tensor: int
    set_tensor: int


@cache
def repack_entries() -> RepackEntries | None:
    """llama.cpp's repacking for this processor; None if the library was built without."""
    buffer_type = _find_buffer_type()
    if buffer_type is None:
        return None
    base = ggml_base()
    sample = base.ggml_backend_buft_alloc_buffer(buffer_type, PAGE)
    if not sample:
        return None
    try:
        init_tensor = pointer_at(sample + tensor.BUFFER_INTERFACE_INIT_TENSOR).value
        set_tensor = pointer_at(sample + tensor.BUFFER_INTERFACE_SET_TENSOR).value
    finally:
        base.ggml_backend_buffer_free(sample)
    return RepackEntries(buffer_type, init_tensor, set_tensor) if init_tensor and set_tensor else None


def _find_buffer_type() -> int | None:
    base = ggml_base()
    look_up = base.ggml_backend_reg_get_proc_address(cpu_registry(), b"ggml_backend_dev_get_extra_bufts")
    if not look_up:
        return None
    types = _EXTRA_TYPES(look_up)(cpu_device())
    index = 0
    while types and types[index]:
        if base.ggml_backend_buft_name(types[index]) == _NAME:
            return int(types[index])
        index += 1
    return None


class RepackedForm:
    """The repacked form of a matrix; immutable, any thread.

    `size_bytes`: of the matrix, plain or repacked. `kernels`: what the tensor's `extra` must be. `image`: the
    bytes of a tensor that is such a matrix and has no data.
    """

    __slots__ = ("_set_tensor", "image", "kernels", "size_bytes")

    def __init__(self, entries: RepackEntries, matrix: int) -> None:
        self._set_tensor = _SET_TENSOR(entries.set_tensor)
        self.image = c.string_at(matrix, tensor.TENSOR_SIZE)
        self.kernels = int.from_bytes(self.image[tensor.EXTRA : tensor.EXTRA + 8], "little")
        self.size_bytes = tensor.strides_of(matrix)[2]

    def fill(self, destination: int, source: int) -> None:
        """Rewrite the plain matrix at `source` to `destination`; addresses of `size_bytes` each."""
        matrix = c.create_string_buffer(self.image, tensor.TENSOR_SIZE)
        address = c.addressof(matrix)
        tensor.set_data(address, destination)
        self._set_tensor(None, address, source, 0, self.size_bytes)


@cache
def repacked_form(
    type_number: int, columns: int, rows: int, of_rows: int | None = None
) -> RepackedForm | None:
    """How such a matrix is repacked on this processor; None where llama.cpp leaves it plain.

    `of_rows`: the matrix is a part of one with so many rows, from a row on that is a multiple of `ROW_GROUP`.
    """
    entries = repack_entries()
    if entries is None:
        return None
    base = ggml_base()
    context = base.ggml_init(GgmlInitParams(1 << 12, None, True))
    try:
        matrix = base.ggml_new_tensor_3d(context, type_number, columns, of_rows or rows, 1)
        _INIT_TENSOR(entries.init_tensor)(None, matrix)
        tensor.keep_rows(matrix, rows)
        form = RepackedForm(entries, matrix)
    finally:
        base.ggml_free(context)
    return form if form.kernels else None


class RepackedBuffer:
    """The buffer that tensors name whose data is repacked; it holds no data. Close after the model is freed.

    Changing a tensor takes effect with the next graph: call between passes, on the engine thread.
    """

    def __init__(self, entries: RepackEntries) -> None:
        self._memory = c.create_string_buffer(2 * PAGE)
        start = -(-c.addressof(self._memory) // PAGE) * PAGE
        self._address = ggml_base().ggml_backend_cpu_buffer_from_ptr(start, PAGE)
        pointer_at(self._address + tensor.BUFFER_TYPE).value = entries.buffer_type
        ggml_base().ggml_backend_buffer_set_usage(self._address, _USAGE_WEIGHTS)

    def adopt(self, address: int, form: RepackedForm) -> None:
        """From now on the tensor's data is in this form."""
        tensor.set_kernels(address, self._address, form.kernels)

    def close(self) -> None:
        """Free it; idempotent."""
        if self._address:
            ggml_base().ggml_backend_buffer_free(self._address)
            self._address = 0
