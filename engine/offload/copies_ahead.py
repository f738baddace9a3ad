"""Copies to a device that begin while the layer before computes.

They are on their way from the end of one layer's visit to the start of the next visit that moves anything,
or to the end of the pass, and no longer: nothing moves in RAM in between, so what they are copied from stays,
and the layer in flight uses other slots than they go to.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from engine.errors import DeviceLostError
from engine.offload.device_slots import DeviceRow, Transfer
from engine.offload.slot_layers import LayerSlots
from engine.placement.copy_ahead import worth_copying
from engine.placement.slot_table import Ids


@dataclass(frozen=True, slots=True)
class Arrived:
    """Copies for a layer that are done: these experts have slots on the device `link`."""

    layer_index: int
    experts: Ids
    link: str
    transfer: Transfer


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    layer_index: int
    row: DeviceRow
    experts: Ids
    n_bytes: int
    started_ns: int


class CopiesAhead:
    """Owned by the engine thread."""

    def __init__(self) -> None:
        self._batches: list[_Batch] = []

    def begin(
        self, current: LayerSlots, used: Ids, coming: LayerSlots, n_tokens: int, compute_ns: int | None
    ) -> None:
        """`current` goes on to compute with `used`: send what `coming` will likely want, at no cost in time.

        Only from pinned memory to a device that copies while it computes.
        """
        row, source = coming.device, coming.slot_class
        if row is None or not row.slot_class.is_copying_ahead or not source.arena.is_pinned:
            return
        started_ns = time.perf_counter_ns()
        table, arena = row.slot_class.table, row.slot_class.arena
        is_waiting = table.absent(row.row) & (source.table.table[coming.row] >= 0)
        rate = row.slot_class.link_bytes_per_second
        likely = table.uses.likely(row.row)
        experts = worth_copying(likely, is_waiting, n_tokens, compute_ns, rate, arena.slot_bytes)
        if not len(experts):
            return
        in_flight = _in_flight(current, used, row)
        moves = table.prepare_stream(row.row, experts, likely[experts], *in_flight, n_tokens)
        for expert, slot in zip(moves.missing.tolist(), moves.slots.tolist(), strict=True):
            host_slot = int(source.table.table[coming.row, expert])
            arena.send(row.slot_class.link, slot, source.arena.sources(coming.experts, host_slot))
        n_bytes = len(moves.missing) * arena.slot_bytes
        self._batches.append(_Batch(coming.index, row, moves.missing, n_bytes, started_ns))

    def finish(self) -> list[Arrived]:
        """Wait for all of them, before any slot is given away; raises DeviceLostError, then `drop`."""
        arrived = []
        while self._batches:
            batch = self._batches[0]
            asked_ns = time.perf_counter_ns()
            batch.row.slot_class.link.wait()
            ended_ns = time.perf_counter_ns()
            batch.row.slot_class.table.complete(batch.row.row, batch.experts)
            del self._batches[0]
            busy_ns = min(ended_ns - batch.started_ns, _most_busy_ns(batch))
            transfer = Transfer(batch.n_bytes, ended_ns - asked_ns, busy_ns, 0)
            link = batch.row.slot_class.name
            arrived.append(Arrived(batch.layer_index, batch.experts, link, transfer))
        return arrived

    def drop(self) -> None:
        """At the end of a pass, or after a fault: what still moves stops, and has no slot."""
        for batch in self._batches:
            with suppress(DeviceLostError):
                batch.row.slot_class.link.wait()
            batch.row.slot_class.table.abort(batch.row.row, batch.experts)
        self._batches.clear()


def _in_flight(current: LayerSlots, used: Ids, row: DeviceRow) -> tuple[int, Ids]:
    """The row of the layer in flight in the table of `row`, and the slots there that it computes with."""
    table = row.slot_class.table
    if current.device is None or current.device.slot_class is not row.slot_class:
        return (row.row - 1) % table.n_row, np.empty(0, np.int64)
    return current.device.row, table.table[current.device.row, np.unique(used)].astype(np.int64)


def _most_busy_ns(batch: _Batch) -> int:
    """What the link needs for so much, by its measured rate: when it was done nobody sees."""
    rate = batch.row.slot_class.link_bytes_per_second
    assert rate is not None, "nothing is begun without it"
    return int(batch.n_bytes / rate * 1e9)
