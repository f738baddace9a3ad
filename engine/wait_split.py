"""Where a message's time in the queue went: behind a load, or behind other messages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoadSpan:
    """When a load ran on the engine's clock; initialising begins `load_ns` after `start_ns`."""

    start_ns: int
    load_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class WaitSplit:
    """Three parts of a wait; they add up to it."""

    queue_ns: int
    load_ns: int
    initialise_ns: int


def split_wait(queued_ns: int, started_ns: int, load: LoadSpan | None) -> WaitSplit:
    """Split the wait from `queued_ns` to `started_ns`.

    A message carries the part of a load that it waited for: all of it if it was queued before the load
    began, none if it was queued after, and the rest of it in between. Time behind other work is queue.
    """
    if load is None or queued_ns >= load.end_ns:
        return WaitSplit(started_ns - queued_ns, 0, 0)
    initialise_start_ns = min(load.start_ns + load.load_ns, load.end_ns)
    load_ns = max(0, initialise_start_ns - max(queued_ns, load.start_ns))
    initialise_ns = load.end_ns - max(queued_ns, initialise_start_ns)
    return WaitSplit(started_ns - queued_ns - load_ns - initialise_ns, load_ns, initialise_ns)
