"""How much memory this process and the machine have, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass

import psutil


@dataclass(frozen=True, slots=True)
class MemoryReading:
    """`rss_bytes` of this process; `available_bytes` and `total_bytes` of the machine."""

    rss_bytes: int
    available_bytes: int
    total_bytes: int


def read_memory() -> MemoryReading:
    """One reading; any thread, well under a millisecond."""
    machine = psutil.virtual_memory()
    return MemoryReading(psutil.Process().memory_info().rss, machine.available, machine.total)
