"""The devices' part of a load: connect, plan, and slots in their memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import chain

from engine.backends.heat_keeper import HeatKeeper
from engine.backends.load_budget import LoadBudget
from engine.backends.planned_devices import PlannedDevices, plan_for_rooms
from engine.backends.vram_notes import vram_notes
from engine.config import LoadSettings, format_size
from engine.gguf.expert_layout import ExpertLayout, LayerExperts
from engine.gguf.facts import ModelFacts
from engine.hardware.card_memory import card_used_bytes
from engine.model_facts import DeviceInfo, ModelInfo, SlotClassInfo
from engine.native.device_share import DeviceShare
from engine.native.devices import Device, DeviceLink, DeviceSet
from engine.native.link_rate import measure_link_rate
from engine.native.memory import HugeBuffer
from engine.native.model import NativeModel
from engine.native.pinned_memory import HostMemory, allocate_pinned
from engine.offload.device_arena import DeviceArena
from engine.offload.device_slots import DeviceClass, DeviceRow, own_slots, tensor_addresses
from engine.offload.slot_layers import LayerSlots
from engine.placement.device_plan import HEADROOM_BYTES, DeviceClassPlan, DevicePlan, DeviceRoom
from engine.placement.slot_table import SlotTable
from engine.placement.vram_spill import VramFigures


class DeviceLoading:
    """Owned by the engine thread; open it before the model, so that `stack` frees it after the model."""

    def __init__(
        self, settings: LoadSettings, layout: ExpertLayout, facts: ModelFacts, stack: ExitStack
    ) -> None:
        """Find the devices; raises UsageError or DeviceError by name."""
        self.devices = DeviceSet(settings.devices)
        stack.callback(self.devices.close)
        self._memory = stack.enter_context(ExitStack())
        self._settings, self._layout, self._facts = settings, layout, facts
        self._planned: PlannedDevices  # by make_plan, which comes first
        self.link_rates: tuple[float | None, ...] = ()
        self._free_bytes: tuple[int, ...] = ()
        self._links: dict[int, DeviceLink] = {}
        self._arenas: dict[int, list[DeviceArena]] = {}

    def make_plan(self, budget: LoadBudget) -> LoadBudget:
        """Decide what goes to the devices; returns the budget of what stays. Before all that follows."""
        devices = self.devices.devices
        self.link_rates = tuple(measure_link_rate(device) for device in devices)
        self._free_bytes = tuple(device.memory().free_bytes for device in devices)
        rooms = tuple(map(_room, devices, self._free_bytes, self.link_rates))
        self._planned = plan_for_rooms(rooms, self._settings, self._layout, self._facts, budget)
        return self._planned.budget

    @property
    def plan(self) -> DevicePlan:
        """What goes to which device."""
        return self._planned.plan

    @property
    def host_settings(self) -> LoadSettings:
        """Settings for what stays."""
        return self._planned.host_settings

    @property
    def share(self) -> DeviceShare:
        """What llama.cpp is to put where."""
        if not sum(self.plan.layers):
            return DeviceShare()
        return DeviceShare(tuple(self.devices.devices), self.plan.layers)

    def open_slots(
        self, layers: tuple[LayerExperts, ...], model: NativeModel, heat: HeatKeeper
    ) -> dict[int, DeviceRow]:
        """Allocate the slots and point the layers' tensors there; the rows by layer number."""
        by_number = {layer.layer: layer for layer in layers}
        rows: dict[int, DeviceRow] = {}
        for plan in self.plan.classes:
            members = [by_number[number] for number in plan.spec.layers if number in by_number]
            if not members:
                continue
            slot_class = self._open_class(plan, members, model, heat)
            for row, experts in enumerate(members):
                rows[experts.layer] = placed = DeviceRow(slot_class, row, experts)
                tensors = tensor_addresses(experts, model.experts.tensors)
                slot_class.arena.point(tensors, own_slots(placed))
        return rows

    def host_allocator(self, layers: list[LayerExperts]) -> Callable[[int], HostMemory]:
        """What allocates the layers' slots in RAM: pinned memory, if a device of theirs offers it."""
        numbers = {layer.layer for layer in layers}
        indices = sorted({plan.device for plan in self.plan.classes if numbers & set(plan.spec.layers)})
        types = [self.devices.devices[index].host_buffer_type for index in indices]
        offered = [each for each in types if each]
        return partial(allocate_pinned, offered[0]) if offered else HugeBuffer

    def _open_class(
        self, plan: DeviceClassPlan, layers: list[LayerExperts], model: NativeModel, heat: HeatKeeper
    ) -> DeviceClass:
        samples = tensor_addresses(layers[0], model.experts.tensors)
        arena = DeviceArena(self.devices.devices[plan.device], layers[0], samples, plan.slots)
        self._memory.callback(arena.close)
        self._arenas.setdefault(plan.device, []).append(arena)
        known = heat.known(layers)
        table = SlotTable(len(layers), plan.spec.n_expert, plan.slots, self._layout.top_k, known)
        is_ahead = self._settings.is_prefetch_on and self.devices.devices[plan.device].copies_while_computing
        rate = self.link_rates[plan.device]
        return DeviceClass(self._link(plan.device), arena, table, plan.hot_per_layer, is_ahead, rate)

    def _link(self, index: int) -> DeviceLink:
        if index not in self._links:
            self._links[index] = self.devices.devices[index].open_link()
            self._memory.callback(self._links[index].close)
        return self._links[index]

    def describe(self, info: ModelInfo, layers: Iterable[LayerSlots]) -> ModelInfo:
        """What a load with these devices tells the user; bytes are planned sizes."""
        classes = tuple(self._describe_class(each) for each in info.slot_classes)
        memory_notes = [self._memory_notes(index) for index in range(len(self.devices.devices))]
        notes = info.notes + self.notes() + _unpinned(layers) + tuple(chain(*memory_notes))
        return replace(info, slot_classes=classes, devices=self.infos(), notes=notes)

    def _memory_notes(self, index: int) -> tuple[str, ...]:
        """After a load: whether the device has what was put there, by what it and its driver say."""
        device, memory = self.devices.devices[index], self.devices.devices[index].memory()
        if not self.plan.used_bytes[index]:
            return ()
        arenas = [] if device.is_remote else self._arenas.get(index, [])
        fills = [rate for rate in (arena.measure_fill() for arena in arenas) if rate is not None]
        figures = VramFigures(
            memory.total_bytes,
            self._free_bytes[index],
            memory.free_bytes,
            self.plan.used_bytes[index] - self._planned.compute_bytes,
            self.plan.budget_bytes[index],
            HEADROOM_BYTES,
            None if device.is_remote else card_used_bytes(device.description),
            min(fills, default=None),
            self.link_rates[index],
        )
        return vram_notes(device.name, figures)

    def infos(self) -> tuple[DeviceInfo, ...]:
        """What is planned for each device."""
        return tuple(self._describe_device(*each) for each in enumerate(self.devices.devices))

    def notes(self) -> tuple[str, ...]:
        """Sentences about what was decided for the devices."""
        if not self.devices.devices:
            return ()
        if not sum(self.plan.layers):
            return ("No layer of this model fits on the devices, so they are not used.",)
        notes = []
        if self.plan.first_layer:
            notes.append(f"Layers below {self.plan.first_layer} don't fit on the devices and stay in RAM.")
        on_devices, with_experts = self.plan.device_layers, self.plan.expert_layers
        left = [n for n in self._facts.moe_layers if n in on_devices and n not in with_experts]
        if left:
            notes.append(f"Experts of {len(left)} layers on devices stay in RAM{self._why_they_stay()}.")
        return tuple(notes)

    def _why_they_stay(self) -> str:
        rates = [rate for rate in self.link_rates if rate is not None]
        memory_rate = self._planned.memory_bytes_per_second
        if memory_rate is None or not rates:
            return ": there is no room for more"
        return (
            f": computing them here, from memory at {format_size(memory_rate)}/s, is quicker than "
            f"copying those that are needed over a link of {format_size(min(rates))}/s"
        )

    def _describe_class(self, info: SlotClassInfo) -> SlotClassInfo:
        plans = [each for each in self.plan.classes if set(each.spec.layers) <= set(info.layers)]
        if not plans:
            return info
        hot = max(each.hot_per_layer for each in plans)
        return replace(info, hot_per_layer=hot, device_slots=sum(each.slots for each in plans))

    def _describe_device(self, index: int, device: Device) -> DeviceInfo:
        return DeviceInfo(
            device.name,
            device.description,
            device.memory().total_bytes,
            self.plan.budget_bytes[index],
            self.plan.used_bytes[index],
            self.plan.expert_layers_on(index),
            self.link_rates[index],
        )


def _unpinned(layers: Iterable[LayerSlots]) -> tuple[str, ...]:
    """Which devices copy from memory that isn't pinned, and why."""
    plain = {
        layer.device.slot_class.link.device
        for layer in layers
        if layer.device is not None and not layer.slot_class.arena.is_pinned
    }
    return tuple(
        f"Copies to the device “{device.name}” come from ordinary memory and begin when a layer asks: "
        + (
            "the system refused to pin so much; a smaller memory budget may help."
            if device.host_buffer_type
            else "it offers no pinned memory."
        )
        for device in sorted(plain, key=lambda device: device.name)
    )


def _room(device: Device, free_bytes: int, link_rate: float | None) -> DeviceRoom:
    return DeviceRoom(device.name, free_bytes, device.largest_buffer_bytes, link_rate)
