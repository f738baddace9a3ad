"""What reader threads are asked to do, and how the engine thread waits for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from engine.errors import EngineError
from engine.native.memory import PAGE


class ReadReason(StrEnum):
    """Why bytes are read; keys of `Counters.bytes_by_reason`."""

    DENSE = "dense"
    MISS = "miss"
    STREAM = "stream"
    PROMOTE = "promote"
    WARM_UP = "warm_up"
    ROW = "row"


@dataclass(frozen=True, slots=True)
class ReadPart:
    """One contiguous piece: `size` bytes at `offset` of `shard` go to `address`.

    `is_congruent`: offset and address are equal modulo a page, and `target` starts at the page frame before
    `address` and ends a page after it, so a direct read may go straight there. Otherwise `target` starts at
    `address` and direct reads are staged: read into memory of the reader's and copied.
    `deliver`, if given, takes the staged bytes (their address) in place of that copy, on the reader's thread;
    then `address` and `target` mean nothing. It must be done with the bytes when it returns.
    """

    shard: int
    offset: int
    size: int
    address: int
    target: memoryview
    is_congruent: bool
    deliver: Callable[[int], None] | None = None

    @property
    def data(self) -> memoryview:
        """Exactly the bytes wanted."""
        lead = self.offset % PAGE if self.is_congruent else 0
        return self.target[lead : lead + self.size]


@dataclass(slots=True, eq=False)
class ReadJob:
    """Parts that complete together (one expert, one chunk); fields after `reason` are the pool's."""

    key: tuple[int, int]
    parts: tuple[ReadPart, ...]
    reason: ReadReason
    remaining: int = 0
    bytes_read: int = 0
    error: EngineError | None = None
    latches: list[Latch] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        return self.remaining == 0


class Latch:
    """Counts jobs down to zero, then wakes one waiting thread."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._event = threading.Event()
        if count == 0:
            self._event.set()

    def count_down(self) -> None:
        """One job is done; called under the pool's lock."""
        self._count -= 1
        if self._count <= 0:
            self._event.set()

    def wait(self, timeout_seconds: float) -> bool:
        """Whether the count reached zero in time."""
        return self._event.wait(timeout_seconds)
