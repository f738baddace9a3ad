"""Keeps the hot zones of all classes in RAM: pages that the system must not swap out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.config import format_size
from engine.hardware.memory import lockable_bytes
from engine.native.pinned_memory import HostMemory


@dataclass(frozen=True, slots=True)
class ZoneLock:
    """What came of it; `notes` are sentences for the user, empty if everything wanted is locked."""

    locked_bytes: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ZoneSpan:
    """The first `size_bytes` of a buffer: the slots of a hot zone."""

    buffer: HostMemory
    size_bytes: int


def lock_zones(spans: Sequence[ZoneSpan]) -> ZoneLock:
    """Lock all or nothing; closing the buffers unlocks. Pages are locked as they come, so this is quick."""
    wanted = sum(span.buffer.lockable(span.size_bytes) for span in spans)
    limit = lockable_bytes()
    if not wanted:
        return ZoneLock()
    if limit is not None and wanted > limit:
        return _refused(wanted, f"this user may lock {format_size(limit)}")
    try:
        for span in spans:
            span.buffer.lock(span.size_bytes)
    except OSError as error:
        unlock_zones(spans)
        return _refused(wanted, f"it refused to lock it ({error.strerror})")
    return ZoneLock(wanted)


def unlock_zones(spans: Sequence[ZoneSpan]) -> None:
    """Let the system move these pages again."""
    for span in spans:
        span.buffer.unlock(span.size_bytes)


def _refused(wanted: int, reason: str) -> ZoneLock:
    return ZoneLock(
        notes=(
            f"The hot zone ({format_size(wanted)}) is in memory that the system may swap out: {reason}. "
            "To lock it, add the line “* - memlock unlimited” to /etc/security/limits.conf and log in again.",
        )
    )
