"""Anonymous memory outside Python's heap: reserved address space, buffers of huge and of single pages."""

from __future__ import annotations

import ctypes as c
import ctypes.util
import mmap
import os
import sys
from functools import cache

from engine.errors import BudgetError, NativeError

PAGE = 4096
HUGE_PAGE = 2 << 20
_PROT_NONE, _PROT_READ_WRITE = 0, 3
_MADV_DONTNEED, _MADV_HUGEPAGE, _MADV_NOHUGEPAGE, _MADV_POPULATE_WRITE = 4, 14, 15, 23
_MLOCK_ONFAULT = 1
_MAP_NORESERVE = 0x4000  # Linux; the mmap module names it on some versions only
_M_MMAP_THRESHOLD, _LARGE_BYTES = -3, 2 << 20  # a copy of the logits is not large


@cache
def _libc() -> c.CDLL:
    if not sys.platform.startswith("linux"):
        raise NativeError("Expert slots run on Linux only so far.", "Use a Linux machine.")
    library = c.CDLL(ctypes.util.find_library("c") or "libc.so.6", use_errno=True)
    library.mmap.restype = c.c_void_p
    library.mmap.argtypes = [c.c_void_p, c.c_size_t, c.c_int, c.c_int, c.c_int, c.c_long]
    library.munmap.argtypes = [c.c_void_p, c.c_size_t]
    library.madvise.argtypes = [c.c_void_p, c.c_size_t, c.c_int]
    library.mlock2.argtypes = [c.c_void_p, c.c_size_t, c.c_uint]
    library.munlock.argtypes = [c.c_void_p, c.c_size_t]
    return library


@cache
def keep_large_blocks_apart() -> None:
    """From now on large blocks of C's heap are mappings of their own, and go when they are freed.

    glibc stops doing so after the first block was freed. Then what a context takes can't be told from what
    the heap had left, and memory of a model that is gone stays with the process.
    """
    if hasattr(_libc(), "mallopt"):  # glibc
        _libc().mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)


def _map(size: int, protection: int) -> int:
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
    address = _libc().mmap(None, size, protection, flags, -1, 0)
    if address in (None, c.c_void_p(-1).value):
        raise BudgetError(
            f"The system refused {size / 2**30:.2f} GiB of memory ({os.strerror(c.get_errno())}).",
            "Lower the memory budget or close other programs.",
        )
    return int(address)


class Reservation:
    """Address space that holds nothing; touching it is a fault, which is the point."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = max(size_bytes, PAGE)
        self.address = _map(self.size_bytes, _PROT_NONE)

    def close(self) -> None:
        """Give the address space back; idempotent."""
        if self.address:
            _libc().munmap(self.address, self.size_bytes)
            self.address = 0


class HugeBuffer:
    """Private memory aligned to and advised as huge pages; physical pages come on first touch."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self._mapped_bytes = size_bytes + HUGE_PAGE + PAGE
        self._base = _map(self._mapped_bytes, _PROT_READ_WRITE)
        self.address = (self._base + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1)
        _libc().madvise(self.address, size_bytes, _MADV_HUGEPAGE)  # advice only; 4 KB pages work too
        array = (c.c_char * (size_bytes + PAGE)).from_address(self.address)
        self.view = memoryview(array).cast("B")

    def populate(self, start: int, size: int) -> None:
        """Make [start, start + size) resident, unchanged; any thread. Older kernels decline, no harm."""
        first = (self.address + start) & ~(PAGE - 1)
        _libc().madvise(first, self.address + start + size - first, _MADV_POPULATE_WRITE)

    def lockable(self, size: int) -> int:
        """Bytes that `lock(size)` locks: whole huge pages, so that none is split."""
        return min(-(-size // HUGE_PAGE) * HUGE_PAGE, -(-self.size_bytes // PAGE) * PAGE) if size else 0

    def lock(self, size: int) -> None:
        """Keep the pages of [0, size) in RAM, each from its first touch on; raises OSError."""
        if size and _libc().mlock2(self.address, self.lockable(size), _MLOCK_ONFAULT):
            raise OSError(c.get_errno(), os.strerror(c.get_errno()))

    def unlock(self, size: int) -> None:
        """The counterpart; idempotent."""
        _libc().munlock(self.address, self.lockable(size))

    def close(self) -> None:
        """Unmap; idempotent. No slice of `view` may be used afterwards."""
        if self._base:
            self.view.release()
            _libc().munmap(self._base, self._mapped_bytes)
            self._base = self.address = 0


class PagedMemory:
    """Zeros that take no memory until a page is written, and none any more when it is given back."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = max(size_bytes, PAGE)
        self.address = _map(self.size_bytes, _PROT_READ_WRITE)
        # one byte must never make 2 MB resident
        _libc().madvise(self.address, self.size_bytes, _MADV_NOHUGEPAGE)
        self.view = memoryview((c.c_char * self.size_bytes).from_address(self.address)).cast("B")

    def give_back(self, start: int, size: int) -> None:
        """Let go of whole pages; they are zeros again."""
        _libc().madvise(self.address + start, size, _MADV_DONTNEED)

    def close(self) -> None:
        """Unmap; idempotent. No slice of `view` may be used afterwards."""
        if self.address:
            self.view.release()
            _libc().munmap(self.address, self.size_bytes)
            self.address = 0
