"""Let llama.cpp choose where dense tensors go, but in memory of ours, which we fill.

For each it takes the first buffer type of a list that the device can compute the tensor's operation with.
The processor's list are its extra types, which it asks the registry for, then plain memory. During a load it
hears of ours for all plain ones, after the repack type if there is one, whose buffers are then allocated by
us too. An override by name would not do: a matrix that is both the embedding and the output has one name in
two places. Process-wide, so loads must not overlap.
"""

from __future__ import annotations

import ctypes as c
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from engine.native import tensor
from engine.native.buffer_types import BufferType
from engine.native.library import pointer_at
from engine.native.registry_answers import registry_answers
from engine.native.repack import RepackEntries

_EXTRA_TYPES = c.CFUNCTYPE(c.c_void_p, c.c_void_p)


@contextmanager
def dense_placement(plain: BufferType, repacked: BufferType, entries: RepackEntries | None) -> Iterator[None]:
    """Within the block, tensors without an override that stay with the processor go to `plain`.

    With `entries`, those with kernels for it go to `repacked`.
    """
    addresses = [plain.address] if entries is None else [entries.buffer_type, plain.address]
    types = (c.c_void_p * 3)(*addresses, None)
    extra_types = _EXTRA_TYPES(lambda _: c.addressof(types))
    extra_types_address = c.cast(extra_types, c.c_void_p).value
    assert extra_types_address, "a function has an address"
    with registry_answers({b"ggml_backend_dev_get_extra_bufts": extra_types_address}), ExitStack() as stack:
        if entries is not None:
            stack.enter_context(_allocated_by(entries, repacked))
        yield


@contextmanager
def _allocated_by(entries: RepackEntries, repacked: BufferType) -> Iterator[None]:
    allocate = pointer_at(entries.buffer_type + tensor.BUFFER_TYPE_ALLOC_BUFFER)
    saved = allocate.value
    allocate.value = repacked.allocate_address
    try:
        yield
    finally:
        allocate.value = saved
