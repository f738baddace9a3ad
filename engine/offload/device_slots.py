"""Experts in a device's memory: a second level above the host's slots, with a hot zone and a staging ring.

An expert that a layer needs is copied from its host slot to a device slot, unless it is there. The hot zone
is the pool of a `SlotTable`: the most used experts of each layer, exchanged between passes; all other slots
are staging. Owned by the engine thread. While the eval callback runs, the device is idle (the scheduler has
waited for it), so any slot that the layer in flight does not use may be overwritten.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import DeviceLostError, EngineError
from engine.gguf.expert_layout import LayerExperts
from engine.native.devices import DeviceLink
from engine.offload.device_arena import DeviceArena
from engine.offload.slot_arena import SlotArena
from engine.placement.slot_table import Ids, SlotTable

Arrivals = Iterable[tuple[int, int]]  # expert and its slot in RAM, usable from now on


@dataclass(frozen=True, slots=True)
class Transfer:
    """What copies to a device took: the engine thread stood still for `wait_ns` of `busy_ns`.

    `source_ns`: it waited so long for the bytes to come to RAM, which is no part of `wait_ns`.
    """

    n_bytes: int
    wait_ns: int
    busy_ns: int
    source_ns: int


@dataclass(frozen=True, slots=True, eq=False)
class DeviceClass:
    """Slots of one class on one device; `hot_per_layer` of them are each layer's hot zone.

    `is_copying_ahead`: whether copies may begin before a layer asks. The rate is the link's, None if unknown.
    """

    link: DeviceLink
    arena: DeviceArena
    table: SlotTable
    hot_per_layer: int
    is_copying_ahead: bool
    link_bytes_per_second: float | None

    @property
    def name(self) -> str:
        return self.link.device.name


@dataclass(frozen=True, slots=True, eq=False)
class DeviceRow:
    """One layer's part of a device class."""

    slot_class: DeviceClass
    row: int
    experts: LayerExperts

    @property
    def slot_of(self) -> NDArray[np.int32]:
        """Slot of every expert, -1 where it has none."""
        slots: NDArray[np.int32] = self.slot_class.table.table[self.row]
        return slots

    def observe(self, wanted: Ids, picks: Ids, n_tokens: int) -> None:
        """The layer in flight uses these distinct experts, each for `picks` of its `n_tokens`."""
        self.slot_class.table.observe(self.row, wanted, picks, n_tokens)

    def bring(self, wanted: Ids, n_tokens: int, arena: SlotArena, arrivals: Arrivals) -> Transfer:
        """Make all of `wanted` usable; `arrivals` are those that are not on the device, as they come to RAM.

        Each is copied while the others still come; returns when all have arrived. Raises DeviceLostError, or
        what `arrivals` raises; then none of them has a slot and no copy is on its way.
        """
        table = self.slot_class.table
        moves = table.prepare(self.row, wanted, n_tokens)
        if moves is None:
            raise EngineError(
                f"Layer {self.experts.layer} needs {len(wanted)} experts at once: more than device slots.",
                "This is a fault of the planner; load with a prompt unit of 1.",
                settings=("unit_tokens",),
            )
        if not len(moves.missing):
            return Transfer(0, 0, 0, 0)
        slots = dict(zip(moves.missing.tolist(), moves.slots.tolist(), strict=True))
        try:
            transfer = self._copy(slots, arena, arrivals)
        except BaseException:
            with suppress(DeviceLostError):
                self.slot_class.link.wait()  # copies may be on their way into slots that are given up now
            table.abort(self.row, moves.missing)
            raise
        table.complete(self.row, moves.missing)
        return transfer

    def _copy(self, slots: dict[int, int], arena: SlotArena, arrivals: Arrivals) -> Transfer:
        link, n_bytes, source_ns, first_ns = self.slot_class.link, 0, 0, 0
        asked_ns = started_ns = time.perf_counter_ns()
        for expert, host_slot in arrivals:
            now_ns = time.perf_counter_ns()
            source_ns, first_ns = source_ns + now_ns - asked_ns, first_ns or now_ns
            sources = arena.sources(self.experts, host_slot)
            n_bytes += self.slot_class.arena.send(link, slots[expert], sources)
            asked_ns = time.perf_counter_ns()
        link.wait()
        ended_ns = time.perf_counter_ns()
        return Transfer(n_bytes, ended_ns - started_ns - source_ns, ended_ns - first_ns, source_ns)


def own_slots(row: DeviceRow) -> range:
    """The slots that a layer's tensors see: all of the class, or its own if every expert has one."""
    table = row.slot_class.table
    if table.is_complete:
        return range(row.row * table.n_expert, (row.row + 1) * table.n_expert)
    return range(table.n_slots)


def tensor_addresses(experts: LayerExperts, loaded: dict[str, int]) -> Sequence[int]:
    """Addresses of a layer's loaded tensors, weights and then biases."""
    return [loaded[each.tensor.name] for each in (*experts.weights, *experts.biases)]
