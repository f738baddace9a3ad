"""Experts on their way into slots: what was started, waiting for it, and taking it out of the books.

Owned by the engine thread; only the readers' threads touch the bytes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from engine.offload.read_job import ReadJob, ReadReason
from engine.offload.reader_pool import ReaderPool
from engine.offload.slot_layers import LayerSlots, SlotClass
from engine.placement.slot_table import Ids

_Key = tuple[int, int]


class ExpertLoads:
    """Loads of all classes; a class keeps its unsettled ones in `SlotClass.jobs`."""

    def __init__(self, readers: ReaderPool) -> None:
        self._readers = readers

    def rate(self) -> tuple[int, int]:
        """(bytes read so far, nanoseconds in which at least one read was in flight)."""
        by_reason, busy_ns, _ = self._readers.snapshot()
        return sum(by_reason.values()), busy_ns

    def start(self, layer: LayerSlots, experts: Ids, slots: Ids, reason: ReadReason) -> None:
        """Begin to read these experts of the layer into the slots that `SlotTable` assigned."""
        slot_class, row = layer.slot_class, layer.row
        pairs = list(zip(experts.tolist(), slots.tolist(), strict=True))
        jobs = [slot_class.arena.read_job(layer.experts, row, *pair, reason) for pair in pairs]
        slot_class.jobs.update((job.key, job) for job in jobs)
        for index, address in enumerate(layer.bias_addresses):
            size = layer.experts.biases[index].slice_bytes
            for expert, slot in pairs:
                slot_class.arena.copy_bias(index, slot, address + expert * size, size)
        self._readers.submit(jobs)

    def finish(self, layer: LayerSlots, started: Ids, awaited: Ids, check: Callable[[], None]) -> int:
        """Wait until these experts are usable; returns nanoseconds waited. Raises DiskReadError.

        `started` just now, `awaited` some time before (streamed: they go ahead of all others).
        """
        slot_class, row = layer.slot_class, layer.row
        keys = [(row, int(expert)) for expert in (*started, *awaited)]
        jobs = [slot_class.jobs[key] for key in keys]
        if len(awaited):
            self._readers.hasten(jobs[len(started) :])
        waited_ns = self.wait(jobs, check)
        self.settle(slot_class, row, keys)
        _raise_first(jobs)
        return waited_ns

    def arrivals(
        self, layer: LayerSlots, wanted: Ids, started: Ids, awaited: Ids, check: Callable[[], None]
    ) -> Iterator[tuple[int, int]]:
        """`wanted` experts and their slots as they become usable: first those that are, then as `finish`."""
        slots = layer.slot_class.table.table[layer.row]
        coming = [*started.tolist(), *awaited.tolist()]
        for expert in wanted[~np.isin(wanted, coming)].tolist():
            yield expert, int(slots[expert])
        nothing = started[:0]
        for index, expert in enumerate(coming):
            one = np.array([expert])
            if index < len(started):
                self.finish(layer, one, nothing, check)
            else:
                self.finish(layer, nothing, one, check)
            yield expert, int(slots[expert])

    def withdraw(self, layer: LayerSlots, wanted: Ids) -> int:
        """The layer asks for `wanted`: call off what was streamed for it in vain and has not begun to come.

        Returns how many experts that were.
        """
        slot_class, row = layer.slot_class, layer.row
        on_their_way = {key for key in slot_class.jobs if key[0] == row}
        if not on_their_way:  # nearly always so for a decoded token
            return 0
        needless = on_their_way - {(row, expert) for expert in wanted.tolist()}
        self._readers.withdraw([slot_class.jobs[key] for key in needless])
        gone = [key for key in needless if slot_class.jobs[key].is_done]
        self.settle(slot_class, row, gone)
        return len(gone)

    def fetch(
        self,
        layer: LayerSlots,
        experts: Ids,
        reason: ReadReason,
        check: Callable[[], None],
        on_done: Callable[[int], None],
    ) -> int:
        """Outside passes: bring these missing experts in; `on_done(experts)` now and then.

        Returns nanoseconds waited. `check` raises to stop; then no read is in flight. Raises DiskReadError.
        """
        slot_class, row = layer.slot_class, layer.row
        moves = slot_class.table.prepare(row, experts, n_tokens=1)
        assert moves is not None, "the plan has slots for all of them"
        self.start(layer, moves.missing, moves.slots, reason)
        keys = [(row, int(expert)) for expert in moves.missing]
        jobs = [slot_class.jobs[key] for key in keys]

        def look() -> None:
            check()
            on_done(sum(job.is_done for job in jobs))

        try:
            waited_ns = self.wait(jobs, look)
        finally:
            if not all(job.is_done for job in jobs):
                self._readers.drop_queued()
            self.settle(slot_class, row, keys)
        _raise_first(jobs)
        on_done(len(jobs))
        return waited_ns

    def wait(self, jobs: Sequence[ReadJob], check: Callable[[], None]) -> int:
        """Until these are done, well or badly; returns nanoseconds waited."""
        started_ns = time.perf_counter_ns()
        self._readers.wait(jobs, check)
        return time.perf_counter_ns() - started_ns

    def wait_layer(self, layer: LayerSlots, check: Callable[[], None]) -> int:
        """Until no load of the layer is unsettled; returns nanoseconds waited."""
        slot_class, row = layer.slot_class, layer.row
        keys = [key for key in slot_class.jobs if key[0] == row]
        if not keys:
            return 0
        waited_ns = self.wait([slot_class.jobs[key] for key in keys], check)
        self.settle(slot_class, row, keys)
        return waited_ns

    def wait_all(self, slot_class: SlotClass, check: Callable[[], None]) -> int:
        """Until no load of the class is unsettled; returns nanoseconds waited."""
        waited_ns = self.wait(list(slot_class.jobs.values()), check)
        self.settle_all(slot_class)
        return waited_ns

    def drop(self, slot_classes: Sequence[SlotClass]) -> None:
        """Call everything off; afterwards no read is in flight and what didn't come has no slot."""
        self._readers.drop_queued()
        for slot_class in slot_classes:
            self.settle_all(slot_class)

    def collect_finished(self, slot_class: SlotClass, row: int) -> None:
        """Make usable what has come for this row meanwhile."""
        keys = [key for key, job in slot_class.jobs.items() if key[0] == row and job.is_done]
        self.settle(slot_class, row, keys)

    def settle_all(self, slot_class: SlotClass) -> None:
        """All jobs of the class are done: take them out of the books."""
        for row in range(slot_class.table.n_row):
            self.settle(slot_class, row, [key for key in slot_class.jobs if key[0] == row])

    @staticmethod
    def settle(slot_class: SlotClass, row: int, keys: list[_Key]) -> None:
        """Take finished jobs out of the books: usable if all bytes came, else the slot is free again."""
        good: list[int] = []
        bad: list[int] = []
        for key in keys:
            job = slot_class.jobs.pop(key)
            (bad if job.error is not None else good).append(key[1])
        slot_class.table.complete(row, np.array(good, np.int64))
        slot_class.table.abort(row, np.array(bad, np.int64))


def _raise_first(jobs: Sequence[ReadJob]) -> None:
    for job in jobs:
        if job.error is not None:
            raise job.error
