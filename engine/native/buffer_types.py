"""ggml buffer types of our own: llama.cpp allocates weights in them, we decide what memory that is.

`set_tensor` of their buffers only notes the tensor: the loader hands it mapped file addresses and we
never read through the mapping, so a file that shrinks later can't raise SIGBUS in the middle of a pass.
"""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable, Sequence
from typing import Protocol

from engine.native import tensor
from engine.native.library import ggml_base, pointer_at
from engine.native.memory import PAGE
from engine.native.repack import RepackEntries

_GET_NAME = c.CFUNCTYPE(c.c_void_p, c.c_void_p)
_ALLOC_BUFFER = c.CFUNCTYPE(c.c_void_p, c.c_void_p, c.c_size_t)
_GET_ALIGNMENT = c.CFUNCTYPE(c.c_size_t, c.c_void_p)
_IS_HOST = c.CFUNCTYPE(c.c_bool, c.c_void_p)
_SET_TENSOR = c.CFUNCTYPE(None, c.c_void_p, c.c_void_p, c.c_void_p, c.c_size_t, c.c_size_t)


class _BufferTypeStruct(c.Structure):
    _fields_ = (
        ("get_name", c.c_void_p), ("alloc_buffer", c.c_void_p), ("get_alignment", c.c_void_p),
        ("get_max_size", c.c_void_p), ("get_alloc_size", c.c_void_p), ("is_host", c.c_void_p),
        ("device", c.c_void_p), ("context", c.c_void_p),
    )  # fmt: skip


class _Override(c.Structure):
    _fields_ = (("pattern", c.c_char_p), ("buft", c.c_void_p))


class Memory(Protocol):
    """What a buffer is made of: `Reservation` or `HugeBuffer`."""

    address: int

    def close(self) -> None: ...


class BufferType:
    """One buffer type; must outlive every model loaded with it. `tensors` maps names to addresses.

    With `repacking`, its buffers say that they are of llama.cpp's repack type.
    """

    def __init__(
        self, name: str, allocate: Callable[[int], Memory], repacking: RepackEntries | None = None
    ) -> None:
        self.tensors: dict[str, int] = {}
        self.error: BaseException | None = None
        self._allocate = allocate
        self._repacking = repacking
        self._memory: list[Memory] = []
        self._name = c.create_string_buffer(name.encode())
        # ctypes callbacks die with their Python objects, so they are kept here
        self._callbacks = (
            _GET_NAME(lambda _: c.addressof(self._name)),
            _ALLOC_BUFFER(self._alloc_buffer),
            _GET_ALIGNMENT(lambda _: PAGE),
            _IS_HOST(lambda _: True),
        )
        self._set_tensor = _SET_TENSOR(self._note_tensor)
        name_entry, alloc, alignment, is_host = (c.cast(f, c.c_void_p).value for f in self._callbacks)
        self._struct = _BufferTypeStruct(name_entry, alloc, alignment, None, None, is_host, None, None)

    @property
    def address(self) -> int:
        return c.addressof(self._struct)

    @property
    def allocate_address(self) -> int:
        """The function that allocates its buffers."""
        return int(self._struct.alloc_buffer)

    def close(self) -> None:
        """Free the memory behind all buffers; only after the model is freed."""
        for memory in self._memory:
            memory.close()
        self._memory.clear()
        self.tensors.clear()

    def _alloc_buffer(self, _: int | None, size: int) -> int | None:
        try:
            memory = self._allocate(size)
        except BaseException as error:  # noqa: BLE001 - C calls this; the loader raises it again
            self.error = error
            return None
        self._memory.append(memory)
        buffer = ggml_base().ggml_backend_cpu_buffer_from_ptr(memory.address, size)
        entry = pointer_at(buffer + tensor.BUFFER_INTERFACE_SET_TENSOR)
        entry.value = c.cast(self._set_tensor, c.c_void_p).value
        if self._repacking is not None:
            init_tensor = pointer_at(buffer + tensor.BUFFER_INTERFACE_INIT_TENSOR)
            init_tensor.value = self._repacking.init_tensor
            pointer_at(buffer + tensor.BUFFER_TYPE).value = self._repacking.buffer_type
        return int(buffer)

    def _note_tensor(self, _: int, address: int, *__: object) -> None:
        self.tensors[tensor.name_of(address).decode(errors="replace")] = address


class ProcessorMemory:
    """llama.cpp's own type of memory for the processor: what stock puts weights in that stay in RAM."""

    @property
    def address(self) -> int:
        return int(ggml_base().ggml_backend_cpu_buffer_type())


class Overrides:
    """The `tensor_buft_overrides` array for llama_model_params: the first matching pattern wins."""

    def __init__(self, pairs: Sequence[tuple[str, BufferType | ProcessorMemory]]) -> None:
        self._pairs = pairs
        entries = [_Override(pattern.encode(), buffer_type.address) for pattern, buffer_type in pairs]
        self._array = (_Override * (len(entries) + 1))(*entries, _Override(None, None))

    @property
    def address(self) -> int:
        return c.addressof(self._array)
