"""What the soak looks at after every unload, and when that is too much. Pure but for `look`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import psutil

MOST_GROWTH_BYTES = 50_000_000


@dataclass(frozen=True, slots=True)
class Vitals:
    """The process at one moment without a model; `private_bytes` is memory that no other process shares."""

    at_seconds: float
    private_bytes: int
    threads: int
    descriptors: int

    @classmethod
    def look(cls, at_seconds: float) -> Vitals:
        process = psutil.Process()
        private_bytes = int(process.memory_full_info().uss)
        return cls(at_seconds, private_bytes, process.num_threads(), process.num_fds())


@dataclass(frozen=True, slots=True)
class Change:
    """Medians of the second and of the last tenth of the time (the first tenth is for caches to fill)."""

    before: float
    after: float
    most: float

    @property
    def growth(self) -> float:
        return self.after - self.before


def change(looks: Sequence[Vitals], figure: Callable[[Vitals], int], whole_seconds: float) -> Change:
    """How a figure changed over a run; `looks` in order of time, at least one."""
    tenth = whole_seconds / 10
    early = [figure(v) for v in looks if tenth <= v.at_seconds < 2 * tenth] or [figure(looks[0])]
    late = [figure(v) for v in looks if v.at_seconds >= 9 * tenth] or [figure(looks[-1])]
    return Change(median(early), median(late), max(map(figure, looks)))


def broken_limits(looks: Sequence[Vitals], whole_seconds: float) -> list[str]:
    """In words, which of memory, threads and descriptors grew too much; empty if none did."""
    if not looks:
        return ["nothing was ever unloaded"]
    memory = change(looks, lambda v: v.private_bytes, whole_seconds)
    threads = change(looks, lambda v: v.threads, whole_seconds)
    descriptors = change(looks, lambda v: v.descriptors, whole_seconds)
    faults = []
    if memory.growth > MOST_GROWTH_BYTES:
        faults.append(f"private memory grew by {memory.growth / 1e6:.1f} MB")
    if threads.growth > 0:
        faults.append(f"threads after an unload grew from {threads.before:g} to {threads.after:g}")
    if descriptors.growth > 0:
        faults.append(f"open descriptors grew from {descriptors.before:g} to {descriptors.after:g}")
    return faults
