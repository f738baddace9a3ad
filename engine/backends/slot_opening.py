"""Opens the slots of a load: an arena and a table per class, and the expert tensors pointed at them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from engine.backends.heat_keeper import HeatKeeper
from engine.backends.repacking import Repacking
from engine.gguf.expert_layout import LayerExperts
from engine.native import tensor as native_tensor
from engine.native.model import NativeModel
from engine.native.pinned_memory import HostMemory
from engine.offload.bias_store import BiasStore
from engine.offload.device_slots import DeviceRow
from engine.offload.slot_arena import SlotArena
from engine.offload.slot_layers import LayerSlots, SlotClass
from engine.placement.placement_plan import ClassPlan, PlacementPlan
from engine.placement.slot_table import SlotTable


def open_slot_classes(
    classes: list[list[LayerExperts]],
    plan: PlacementPlan,
    top_k: int,
    heat: HeatKeeper,
    repacking: Repacking,
    allocator: Callable[[list[LayerExperts]], Callable[[int], HostMemory]],
    stack: ExitStack,
) -> list[SlotClass]:
    """One class per entry of `classes`, which `plan` has in the same order; `stack` closes the arenas.

    `allocator(layers)`: what allocates memory for their slots.
    """
    slot_classes = []
    for layers, class_plan in zip(classes, plan.classes, strict=True):
        slot_class = _slot_class(layers, class_plan, top_k, heat, repacking, allocator(layers))
        stack.callback(slot_class.arena.close)
        slot_classes.append(slot_class)
    return slot_classes


def _slot_class(
    layers: list[LayerExperts],
    plan: ClassPlan,
    top_k: int,
    heat: HeatKeeper,
    repacking: Repacking,
    allocate: Callable[[int], HostMemory],
) -> SlotClass:
    n_expert = layers[0].n_expert
    return SlotClass(
        plan,
        SlotArena(layers[0], plan.slots, repacking.forms(layers[0]), allocate),
        SlotTable(len(layers), n_expert, plan.slots, top_k, heat.known(layers), plan.hot_per_layer),
        {},
    )


def layer_slots(
    slot_classes: list[SlotClass],
    classes: list[list[LayerExperts]],
    biases: BiasStore,
    devices: dict[int, DeviceRow],
) -> list[LayerSlots]:
    """All expert layers in order, each with its place in its class; `devices`: those with slots there."""
    placed = [
        (layer, row, slot_class)
        for slot_class, layers in zip(slot_classes, classes, strict=True)
        for row, layer in enumerate(layers)
    ]
    placed.sort(key=lambda item: item[0].layer)
    return [
        LayerSlots(
            index,
            row,
            layer,
            slot_class,
            biases.addresses(layer),
            _present(slot_class, row, devices.get(layer.layer)),
            devices.get(layer.layer),
        )
        for index, (layer, row, slot_class) in enumerate(placed)
    ]


def _present(slot_class: SlotClass, row: int, device: DeviceRow | None) -> bytearray | None:
    table = slot_class.table if device is None else device.slot_class.table
    return table.present[row if device is None else device.row] if table.is_complete else None


def point_tensors(model: NativeModel, layers: list[LayerSlots]) -> None:
    """Let the expert tensors in RAM see all slots of their class; with one for every expert, just their own.

    llama.cpp's work per operation grows with the number of experts it sees.
    """
    for layer in layers:
        if layer.device is not None:
            continue
        arena, table = layer.slot_class.arena, layer.slot_class.table
        own = range(layer.row * table.n_expert, (layer.row + 1) * table.n_expert)
        slots = own if table.is_complete else range(table.n_slots)
        for index, weight in enumerate(layer.experts.weights):
            address = model.experts.tensors[weight.tensor.name]
            native_tensor.point_at_slots(address, 2, arena.weight_view(index, weight, slots))
            form = arena.forms[index]
            if form is not None:
                model.hold_repacked(address, form)
        for index, bias in enumerate(layer.experts.biases):
            address = model.experts.tensors[bias.tensor.name]
            native_tensor.point_at_slots(address, 1, arena.bias_view(index, slots))
