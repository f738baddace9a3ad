"""Where a message's time in the queue went: behind a load, a warm-up, or other messages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoadSpan:
    """When a load ran on the engine's clock; initialising begins `load_ns` after `start_ns`."""

    start_ns: int
    load_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class WarmUpSpan:
    """When a warm-up ran on the engine's clock."""

    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class WaitSplit:
    """Parts of a wait; they add up to it."""

    queue_ns: int
    load_ns: int
    initialise_ns: int
    warm_up_ns: int = 0


def split_wait(
    queued_ns: int, started_ns: int, load: LoadSpan | None, warm_up: WarmUpSpan | None = None
) -> WaitSplit:
    """Split the wait from `queued_ns` to `started_ns`; `warm_up` is the last one since the load.

    A message carries the part of a load that it waited for: all of it if it was queued before the load
    began, none if it was queued after, and the rest of it in between. Time behind other work is queue.
    """
    warm_up_ns = max(0, warm_up.end_ns - max(queued_ns, warm_up.start_ns)) if warm_up is not None else 0
    queue_ns = started_ns - queued_ns - warm_up_ns
    if load is None or queued_ns >= load.end_ns:
        return WaitSplit(queue_ns, 0, 0, warm_up_ns)
    initialise_start_ns = min(load.start_ns + load.load_ns, load.end_ns)
    load_ns = max(0, initialise_start_ns - max(queued_ns, load.start_ns))
    initialise_ns = load.end_ns - max(queued_ns, initialise_start_ns)
    return WaitSplit(queue_ns - load_ns - initialise_ns, load_ns, initialise_ns, warm_up_ns)
