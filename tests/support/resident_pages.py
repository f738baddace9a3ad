"""How much of a stretch of address space is in memory, as the system says (mincore)."""

from __future__ import annotations

import ctypes as c
import mmap
import os
from pathlib import Path

import numpy as np

PAGE = 4096


def resident_bytes(address: int, size_bytes: int) -> int:
    """Bytes of the pages of [address, address + size_bytes) that are in memory; address is a page's."""
    libc = c.CDLL(None, use_errno=True)
    libc.mincore.argtypes = [c.c_void_p, c.c_size_t, c.c_void_p]
    flags = np.zeros(-(-size_bytes // PAGE), np.uint8)
    if libc.mincore(address, size_bytes, flags.ctypes.data):
        raise OSError(c.get_errno(), os.strerror(c.get_errno()))
    return int((flags & 1).sum()) * PAGE


def cached_bytes(path: Path, offset_bytes: int, size_bytes: int) -> int:
    """Bytes of this part of a file that the page cache holds."""
    first = offset_bytes // PAGE * PAGE
    size_bytes += offset_bytes - first
    with path.open("r+b") as file, mmap.mmap(file.fileno(), size_bytes, offset=first) as view:
        anchor = (c.c_char * size_bytes).from_buffer(view)
        cached = resident_bytes(c.addressof(anchor), size_bytes)
        del anchor  # the map can't be closed while it is used
        return cached


def drop_cached(path: Path) -> None:
    """Write the file out and let the page cache forget it."""
    with path.open("r+b") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
