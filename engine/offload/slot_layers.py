"""The expert layers of a loaded model and the classes of slots they share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.gguf.expert_layout import LayerExperts
from engine.offload.device_slots import DeviceRow
from engine.offload.read_job import ReadJob
from engine.offload.slot_arena import SlotArena
from engine.placement.placement_plan import ClassPlan
from engine.placement.slot_table import SlotTable
from engine.placement.tier import Tier


@dataclass(slots=True, eq=False)
class SlotClass:
    """Mutable state of one class; owned by the engine thread. `jobs`: loads not yet collected."""

    plan: ClassPlan
    arena: SlotArena
    table: SlotTable
    jobs: dict[tuple[int, int], ReadJob]


@dataclass(frozen=True, slots=True, eq=False)
class LayerSlots:
    """One MoE layer: its place in the model (`index`), in its class (`row`), and its bias tables in RAM.

    `device`: its slots in a device's memory, or None; then the host's slots are a level below. `present`: the
    row's bytes of the upper level's `SlotTable.present`, or None where experts can be evicted.
    """

    index: int
    row: int
    experts: LayerExperts
    slot_class: SlotClass
    bias_addresses: tuple[int, ...]
    present: bytearray | None
    device: DeviceRow | None = None

    @property
    def top(self) -> SlotTable:
        """Table of the slots that the graph computes with."""
        return self.device.slot_class.table if self.device is not None else self.slot_class.table

    @property
    def top_row(self) -> int:
        """The layer's row in `top`."""
        return self.row if self.device is None else self.device.row

    def tiers(self) -> NDArray[np.uint8]:
        """Where each expert of the layer is now."""
        pool, row = self.slot_class.plan.decode_pool, slice(self.row, self.row + 1)
        tiers: NDArray[np.uint8] = self.slot_class.table.tiers(pool, row)[0]
        if self.device is not None:
            tiers[self.slot_of >= 0] = Tier.VRAM
        return tiers

    def absent(self) -> NDArray[np.bool_]:
        """Which experts are on no device, in no slot and not on their way."""
        is_absent = self.slot_class.table.absent(self.row)
        return is_absent if self.device is None else is_absent & (self.slot_of < 0)

    @property
    def slot_of(self) -> NDArray[np.int32]:
        """Slot of every expert there, -1 where it has none."""
        slots: NDArray[np.int32] = self.top.table[self.top_row]
        return slots


def layers_by_class(layers: Iterable[LayerSlots]) -> list[list[LayerSlots]]:
    """The layers that share slots, each class's in the order of their rows."""
    by_class: dict[SlotClass, list[LayerSlots]] = {}
    for layer in layers:
        by_class.setdefault(layer.slot_class, []).append(layer)
    return [sorted(members, key=lambda layer: layer.row) for members in by_class.values()]
