"""What devices would hold after a load that has not happened.

A server serves one program at a time, so a device that the loaded model is on can't be asked: what it was
found to be at that load is used instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from engine.backends.device_loading import DeviceLoading
from engine.backends.load_budget import LoadBudget
from engine.backends.planned_devices import plan_for_rooms
from engine.config import LoadSettings
from engine.errors import DeviceError
from engine.gguf.expert_layout import ExpertLayout
from engine.gguf.facts import ModelFacts
from engine.model_facts import DeviceInfo
from engine.native.devices import Device, DeviceSet
from engine.native.link_rate import measure_link_rate
from engine.placement.device_plan import DevicePlan, DeviceRoom

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
            left = loading.make_plan(budget)
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
    rooms = tuple(
        DeviceRoom(each.name, each.memory_bytes, link_bytes_per_second=each.link_bytes_per_second)
        for each in infos
    )
    planned = plan_for_rooms(rooms, settings, layout, facts, budget)
    return DevicesPreview(
        planned.budget, planned.host_settings, _described(infos, planned.plan), (_AS_FOUND,)
    )


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


def _described(infos: Sequence[DeviceInfo], plan: DevicePlan) -> tuple[DeviceInfo, ...]:
    return tuple(
        replace(
            info,
            budget_bytes=plan.budget_bytes[index],
            used_bytes=plan.used_bytes[index],
            layers=plan.expert_layers_on(index),
        )
        for index, info in enumerate(infos)
    )
