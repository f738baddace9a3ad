"""What devices would hold after a load that has not happened.

A server serves one program at a time, so a device that the loaded model is on can't be asked: what it was
found to be at that load is used instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from engine.backends.device_loading import DeviceLoading, dense_layer_bytes, device_specs, moved_bytes
from engine.backends.load_budget import LoadBudget
from engine.backends.slot_classes import layer_classes
from engine.config import LoadSettings, Repack, usable_cores
from engine.errors import DeviceError
from engine.gguf.expert_layout import ExpertLayout
from engine.gguf.facts import ModelFacts
from engine.hardware.memory_rate import measure_memory_rate
from engine.model_facts import DeviceInfo
from engine.native.devices import Device, DeviceSet
from engine.native.link_rate import measure_link_rate
from engine.placement.device_plan import DevicePlan, DeviceRequest, DeviceRoom, plan_devices

_AS_FOUND = "Devices in use can’t be asked now; they are counted as if nothing else took memory there."


@dataclass(frozen=True, slots=True)
class DevicesPreview:
    """What devices would take, and the budget and settings of what then stays."""

    budget: LoadBudget
    host_settings: LoadSettings
    infos: tuple[DeviceInfo, ...] = ()
    notes: tuple[str, ...] = ()


def preview_devices(
    settings: LoadSettings,
    layout: ExpertLayout,
    facts: ModelFacts,
    budget: LoadBudget,
    held: Sequence[DeviceInfo] = (),
) -> DevicesPreview:
    """Asks the devices, if there are any; one that can't be asked now (it may be busy) becomes a note.

    `held`: those that the model which is loaded now is on; a load frees it first.
    """
    if not settings.devices:
        return DevicesPreview(budget, settings)
    in_use = [each for each in held if each.name.partition("#")[0] in settings.devices]
    with ExitStack() as stack:
        try:
            if in_use:
                return _with_held(settings, layout, facts, budget, in_use)
            loading = DeviceLoading(settings, layout, facts, stack)
            left = loading.make_plan(budget, layer_classes(layout.layers))
            return DevicesPreview(left, loading.host_settings, loading.infos(), loading.notes())
        except DeviceError as error:
            return DevicesPreview(budget, settings, notes=(f"Planned without devices. {error}",))


def _with_held(
    settings: LoadSettings,
    layout: ExpertLayout,
    facts: ModelFacts,
    budget: LoadBudget,
    held: Sequence[DeviceInfo],
) -> DevicesPreview:
    names = {each.name.partition("#")[0] for each in held}
    infos = [*held, *_found([name for name in settings.devices if name not in names])]
    infos.sort(key=lambda each: settings.devices.index(each.name.partition("#")[0]))
    kv_layer_bytes = facts.kv_bytes_per_token * budget.context_tokens // max(1, facts.n_layer)
    dense = dense_layer_bytes(layout, facts.n_layer)
    request = DeviceRequest(
        tuple(
            DeviceRoom(each.name, each.memory_bytes, link_bytes_per_second=each.link_bytes_per_second)
            for each in infos
        ),
        (*(size + kv_layer_bytes for size in dense[:-1]), dense[-1]),
        budget.context.compute_bytes(settings.unit_tokens or budget.largest_unit_tokens),
        device_specs(layer_classes(layout.layers)),
        layout.top_k,
        settings.vram_budget_bytes,
        settings.unit_tokens,
        settings.hot_per_layer,
        settings.staging_slots,
    )
    plan = plan_devices(request)
    if not request.is_asked and any(not each.is_complete for each in plan.classes):
        rate = measure_memory_rate(settings.threads or usable_cores())
        plan = plan_devices(replace(request, memory_bytes_per_second=rate))
    moved = range(plan.first_layer, facts.n_layer)
    dense_bytes = moved_bytes(layout, dense, plan)
    left = budget.relieved(dense_bytes, kv_layer_bytes * len(moved), plan.unit_tokens)
    host = settings if sum(plan.layers) else replace(settings, devices=())
    if plan.classes:
        host = replace(settings, hot_per_layer=0, repack=Repack.OFF)
    return DevicesPreview(left, host, _planned(infos, plan), (_AS_FOUND,))


def _found(names: Sequence[str]) -> list[DeviceInfo]:
    """Devices that nobody uses yet; raises DeviceError."""
    devices = DeviceSet(names)
    try:
        return [_asked(device) for device in devices.devices]
    finally:
        devices.close()


def _asked(device: Device) -> DeviceInfo:
    free_bytes, rate = device.memory().free_bytes, measure_link_rate(device)
    return DeviceInfo(device.name, device.description, free_bytes, free_bytes, 0, (), rate)


def _planned(infos: Sequence[DeviceInfo], plan: DevicePlan) -> tuple[DeviceInfo, ...]:
    return tuple(
        replace(
            info,
            budget_bytes=plan.budget_bytes[index],
            used_bytes=plan.used_bytes[index],
            layers=tuple(sorted(n for c in plan.classes if c.device == index for n in c.spec.layers)),
        )
        for index, info in enumerate(infos)
    )
