"""What a load puts on devices, from the room there, and what then stays here.

Takes no memory and asks no device, so that a load and a preview of one decide alike.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.backends.load_budget import LoadBudget
from engine.backends.slot_classes import layer_classes
from engine.config import LoadSettings, Repack, usable_cores
from engine.gguf.expert_layout import ExpertLayout, LayerExperts
from engine.gguf.facts import ModelFacts
from engine.hardware.memory_rate import measure_memory_rate
from engine.offload.device_arena import device_slot_bytes
from engine.placement.device_plan import DevicePlan, DeviceRequest, DeviceRoom, plan_devices
from engine.placement.placement_plan import SlotClassSpec

_LAYER = re.compile(r"blk\.([0-9]+)\..*")
_INPUT, _OUTPUT = "token_embd.weight", "output.weight"


@dataclass(frozen=True, slots=True)
class PlannedDevices:
    """The devices' plan, and the budget and settings of what stays.

    `compute_bytes`: an estimate of what each device needs to compute a unit. `memory_bytes_per_second`: what
    the processor reads from RAM, None where the plan did not depend on it.
    """

    plan: DevicePlan
    budget: LoadBudget
    host_settings: LoadSettings
    compute_bytes: int
    memory_bytes_per_second: float | None


def plan_for_rooms(
    rooms: tuple[DeviceRoom, ...],
    settings: LoadSettings,
    layout: ExpertLayout,
    facts: ModelFacts,
    budget: LoadBudget,
) -> PlannedDevices:
    """Share a model among devices with this room (none: all stays) and this machine, whose budget it is.

    Blocks for a fraction of a second where the speed of this machine's memory matters.
    """
    kv_layer_bytes = facts.kv_bytes_per_token * budget.context_tokens // max(1, facts.n_layer)
    dense = _dense_layer_bytes(layout, facts.n_layer)
    request = DeviceRequest(
        rooms,
        (*(size + kv_layer_bytes for size in dense[:-1]), dense[-1]),
        budget.context.compute_bytes(settings.unit_tokens or budget.largest_unit_tokens),
        _device_specs(layer_classes(layout.layers)),
        layout.top_k,
        settings.vram_budget_bytes,
        settings.unit_tokens,
        settings.hot_per_layer,
        settings.staging_slots,
    )
    plan = plan_devices(request)
    if not request.is_asked and any(not each.is_complete for each in plan.classes):
        # copies would be needed: is computing in RAM quicker?
        rate = measure_memory_rate(settings.threads or usable_cores())
        request = replace(request, memory_bytes_per_second=rate)
        plan = plan_devices(request)
    kv_bytes = kv_layer_bytes * len(range(plan.first_layer, facts.n_layer))
    left = budget.relieved(_moved_bytes(layout, dense, plan), kv_bytes, plan.unit_tokens)
    host = _host_settings(settings, plan)
    return PlannedDevices(plan, left, host, request.compute_bytes, request.memory_bytes_per_second)


def _host_settings(settings: LoadSettings, plan: DevicePlan) -> LoadSettings:
    """Settings for what stays: experts on devices are hot there, and are copied as they are."""
    if not sum(plan.layers):
        return replace(settings, devices=())
    if not plan.classes:
        return settings
    return replace(settings, hot_per_layer=0, repack=Repack.OFF)


def _device_specs(classes: Sequence[Sequence[LayerExperts]]) -> tuple[SlotClassSpec, ...]:
    """What the planner must know of each class; slots on a device have no padding."""
    return tuple(
        SlotClassSpec(
            tuple(layer.layer for layer in layers), layers[0].n_expert, device_slot_bytes(layers[0])
        )
        for layers in classes
    )


def _second_embedding_bytes(layout: ExpertLayout) -> int:
    """What the embedding takes among the outputs, if it is one; the processor has it as well."""
    sizes = {tensor.name: tensor.size_bytes for tensor in layout.dense}
    return 0 if _OUTPUT in sizes else sizes.get(_INPUT, 0)


def _moved_bytes(layout: ExpertLayout, dense: list[int], plan: DevicePlan) -> int:
    """Dense weights that are not here because they are on devices; `dense` as `_dense_layer_bytes` says."""
    is_second = bool(sum(plan.layers))  # the output goes first
    return sum(dense[plan.first_layer :]) - is_second * _second_embedding_bytes(layout)


def _dense_layer_bytes(layout: ExpertLayout, n_layer: int) -> list[int]:
    """Dense weights of each layer, and of the output as the last entry."""
    sizes = [0] * n_layer + [_second_embedding_bytes(layout)]
    for tensor in layout.dense:
        match = _LAYER.fullmatch(tensor.name)
        if match is not None:
            sizes[min(int(match[1]), n_layer)] += tensor.size_bytes
        elif tensor.name != _INPUT:
            sizes[n_layer] += tensor.size_bytes
    return sizes
