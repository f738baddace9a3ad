"""Memory of this machine that a device reads without the processor's help: page-locked, by its driver."""

from __future__ import annotations

import ctypes as c

from engine.native.library import ggml_base
from engine.native.memory import PAGE, HugeBuffer


class PinnedBuffer:
    """Used as a `HugeBuffer`; all its pages are there from the start, and stay."""

    def __init__(self, handle: int, size_bytes: int) -> None:
        """Takes over ggml's buffer of at least `size_bytes` and two pages."""
        self._handle, self.size_bytes = handle, size_bytes
        base = int(ggml_base().ggml_backend_buffer_get_base(handle))
        self.address = -(-base // PAGE) * PAGE
        self.view = memoryview((c.c_char * (size_bytes + PAGE)).from_address(self.address)).cast("B")

    def populate(self, start: int, size: int) -> None:
        """Nothing is left to do."""

    def lockable(self, size: int) -> int:
        """Bytes that `lock(size)` locks: none, they can't be swapped out anyway."""
        return 0

    def lock(self, size: int) -> None:
        """Nothing is left to do."""

    def unlock(self, size: int) -> None:
        """Nothing is left to do."""

    def close(self) -> None:
        """Free it; idempotent. No slice of `view` may be used afterwards, no copy may be on its way."""
        if self._handle:
            self.view.release()
            ggml_base().ggml_backend_buffer_free(self._handle)
            self._handle = self.address = 0


HostMemory = HugeBuffer | PinnedBuffer


def allocate_pinned(host_buffer_type: int, size_bytes: int) -> HostMemory:
    """Pinned memory of a device's kind, or plain memory if the driver refuses; raises BudgetError."""
    base = ggml_base()
    handle = base.ggml_backend_buft_alloc_buffer(host_buffer_type, size_bytes + 2 * PAGE)
    if not handle:
        return HugeBuffer(size_bytes)
    if base.ggml_backend_buffer_get_type(handle) != host_buffer_type:  # ggml's own way out: plain memory
        base.ggml_backend_buffer_free(handle)
        return HugeBuffer(size_bytes)
    return PinnedBuffer(int(handle), size_bytes)
