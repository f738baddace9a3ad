"""While a model loads, its device buffers are made as always but stay empty: we only note who wants what.

llama.cpp decides which weights go to which device and allocates them there. It would fill them from the
mapped file, page by page; so during the load the devices' buffer types hand out buffers whose `set_tensor` is
ours.
"""

from __future__ import annotations

import ctypes as c
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from engine.native import tensor
from engine.native.devices import Device
from engine.native.library import pointer_at

_ALLOC_BUFFER = c.CFUNCTYPE(c.c_void_p, c.c_void_p, c.c_size_t)
_SET_TENSOR = c.CFUNCTYPE(None, c.c_void_p, c.c_void_p, c.c_void_p, c.c_size_t, c.c_size_t)


class DeviceWeights:
    """`tensors` maps names to the addresses of tensors that wait for their bytes."""

    def __init__(self) -> None:
        self.tensors: dict[str, int] = {}
        self._buffers: dict[int, int | None] = {}  # handle -> its own set_tensor
        self._set_tensor = _SET_TENSOR(self._note_tensor)  # lives as long as a buffer points to it

    @contextmanager
    def capture(self, devices: Sequence[Device]) -> Iterator[None]:
        """Within the block, buffers allocated on these devices get no weights; then call `release`."""
        wrapped = []
        try:
            for device in devices:
                entry = pointer_at(device.buffer_type + tensor.BUFFER_TYPE_ALLOC_BUFFER)
                wrapped.append((entry, entry.value, self._wrap(entry)))
            yield
        finally:
            for entry, saved, _ in wrapped:
                entry.value = saved

    def _wrap(self, entry: c.c_void_p) -> object:
        assert entry.value is not None, "every buffer type allocates"
        original = _ALLOC_BUFFER(entry.value)

        def allocate(buffer_type: int, size: int) -> int | None:
            handle: int | None = original(buffer_type, size)
            if handle:
                set_tensor = pointer_at(handle + tensor.BUFFER_INTERFACE_SET_TENSOR)
                self._buffers[handle] = set_tensor.value
                set_tensor.value = c.cast(self._set_tensor, c.c_void_p).value
            return handle

        wrapper = _ALLOC_BUFFER(allocate)
        entry.value = c.cast(wrapper, c.c_void_p).value
        return wrapper

    def release(self) -> None:
        """Give the buffers their own `set_tensor` back; only if the model, and so they, exist."""
        for handle, own in self._buffers.items():
            pointer_at(handle + tensor.BUFFER_INTERFACE_SET_TENSOR).value = own
        self._buffers.clear()

    def _note_tensor(self, _: int, address: int, *__: object) -> None:
        self.tensors[tensor.name_of(address).decode(errors="replace")] = address
