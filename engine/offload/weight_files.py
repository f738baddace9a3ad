"""Open files of a model for reading weights: direct (past the page cache) where the filesystem can."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

from engine.errors import DiskReadError
from engine.native.memory import PAGE


class WeightFiles:
    """Descriptors of all shards; shared by reader threads (positional reads only)."""

    def __init__(self, paths: tuple[Path, ...], is_direct_wanted: bool = True) -> None:
        self.paths = paths
        self.is_direct = is_direct_wanted
        self._descriptors: list[int] = []
        try:
            for path in paths:
                self._descriptors.append(self._open(path))
        except OSError as error:
            self.close()
            raise DiskReadError(
                f"{error.filename} can't be opened ({error.strerror}).", "Check that the file is still there."
            ) from error

    def _open(self, path: Path) -> int:
        flags = os.O_RDONLY | os.O_CLOEXEC
        if self.is_direct:
            try:
                return _open_direct(path, flags)
            except OSError:
                self.is_direct = False  # tmpfs, some network and FUSE filesystems
        return os.open(path, flags)

    def read(self, shard: int, target: memoryview, offset: int, least_bytes: int) -> int:
        """Read at `offset` into `target` (page-aligned all three where direct); returns the bytes read.

        Raises DiskReadError on an I/O error or when fewer than `least_bytes` came (the file shrank).
        """
        done = 0
        while done < least_bytes:
            try:
                got = os.preadv(self._descriptors[shard], [target[done:]], offset + done)
            except OSError as error:
                raise self._fault(shard, f"{error.strerror}", offset + done) from error
            if got == 0 or (self.is_direct and got % PAGE and done + got < least_bytes):
                raise self._fault(
                    shard, "the file ends there; it was changed or truncated", offset + done + got
                )
            done += got
        return done

    def _fault(self, shard: int, reason: str, offset: int) -> DiskReadError:
        return DiskReadError(
            f"Weights could not be read from {self.paths[shard].name} at byte {offset}: {reason}.",
            "Nothing was computed from them. Check the disk and the file, then load the model again.",
        )

    def forget(self, shard: int, offset: int, size: int) -> None:
        """Drop a buffered range from the page cache: slots are our cache, a second copy is waste."""
        if not self.is_direct and hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._descriptors[shard], offset, size, os.POSIX_FADV_DONTNEED)

    def close(self) -> None:
        """Close all descriptors; idempotent. No read may be in flight."""
        while self._descriptors:
            os.close(self._descriptors.pop())


def _open_direct(path: Path, flags: int) -> int:
    """Descriptor that has proved one direct read: some filesystems accept the flag and fail to read."""
    descriptor = os.open(path, flags | getattr(os, "O_DIRECT", 0))
    try:
        with mmap.mmap(-1, PAGE) as page:
            os.preadv(descriptor, [page], 0)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
