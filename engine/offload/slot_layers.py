"""The expert layers of a loaded model and the classes of slots they share."""

from __future__ import annotations

from dataclasses import dataclass

from engine.gguf.expert_layout import LayerExperts
from engine.offload.read_job import ReadJob
from engine.offload.slot_arena import SlotArena
from engine.placement.placement_plan import ClassPlan
from engine.placement.slot_table import SlotTable


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

    `present`: the row's bytes of `SlotTable.present`, or None where experts can be evicted.
    """

    index: int
    row: int
    experts: LayerExperts
    slot_class: SlotClass
    bias_addresses: tuple[int, ...]
    present: bytearray | None
