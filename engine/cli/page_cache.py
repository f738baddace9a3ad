"""Makes the system forget what it keeps of files, so that a cold run is cold."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

_DROP_FILE = Path("/proc/sys/vm/drop_caches")


def drop_page_cache(paths: Sequence[Path], drop_file: Path = _DROP_FILE) -> str:
    """Drop cached pages of `paths`, and of everything where permitted; says in words what was done."""
    if not hasattr(os, "posix_fadvise"):
        return "the system's file cache could not be dropped on this platform"
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)  # pages not yet written can't be dropped
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)
    try:
        with drop_file.open("w") as file:
            file.write("1\n")
    except OSError:
        return "the model's pages were dropped from the file cache"
    return "the whole file cache was dropped"
