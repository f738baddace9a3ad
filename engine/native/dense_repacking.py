"""Let llama.cpp choose which dense tensors are repacked, but in memory of ours, which we fill.

It takes the first buffer type of a list that the CPU device can compute the tensor's operation with: its
extra types, which it asks the registry for, then plain memory. During a load it hears of the repack type and
of ours for all the rest, and buffers of the repack type are allocated by us. Process-wide, so loads must not
overlap.
"""

from __future__ import annotations

import ctypes as c
from collections.abc import Iterator
from contextlib import contextmanager

from engine.native import tensor
from engine.native.buffer_types import BufferType
from engine.native.library import pointer_at
from engine.native.registry_answers import registry_answers
from engine.native.repack import RepackEntries

_EXTRA_TYPES = c.CFUNCTYPE(c.c_void_p, c.c_void_p)


@contextmanager
def dense_repacking(entries: RepackEntries, repacked: BufferType, plain: BufferType) -> Iterator[None]:
    """Within the block, tensors without an override go to `repacked` where kernels exist, else to `plain`."""
    types = (c.c_void_p * 3)(entries.buffer_type, plain.address, None)
    extra_types = _EXTRA_TYPES(lambda _: c.addressof(types))
    extra_types_address = c.cast(extra_types, c.c_void_p).value
    assert extra_types_address, "a function has an address"
    allocate = pointer_at(entries.buffer_type + tensor.BUFFER_TYPE_ALLOC_BUFFER)
    saved = allocate.value
    with registry_answers({b"ggml_backend_dev_get_extra_bufts": extra_types_address}):
        allocate.value = repacked.allocate_address
        try:
            yield
        finally:
            allocate.value = saved
