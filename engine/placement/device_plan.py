"""What goes to which device: dense weights and KV cache of the last layers, and slots for their experts.

Pure arithmetic on sizes and rates. Slots on a device are a hot zone per layer (the most used experts, which
stay) and staging that copies pass through. Where every expert of a layer has a slot there is nothing to copy;
and where copying would take longer than computing in RAM, a layer's experts stay there.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

from engine.config import MIB
from engine.placement.placement_plan import AUTO_UNITS, SlotClassSpec, worst_case_experts

HEADROOM_BYTES = 600 * MIB
DEFAULT_HOT = 5
_LEAST_STAGED_UNIT = 64  # staging for fewer tokens would slow prompts more than it helps answers


@dataclass(frozen=True, slots=True)
class DeviceRoom:
    """One device: what is free there now, the largest piece it allocates, what its link gives."""

    name: str
    free_bytes: int
    largest_buffer_bytes: int = 1 << 62
    link_bytes_per_second: float | None = None


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """`layer_bytes[i]`: dense weights and KV cache of layer i; the last entry is the output.

    `classes`: expert layers, with the bytes of a slot on a device. `compute_bytes`: what each device needs to
    compute a unit. `memory_bytes_per_second`: what the processor reads from RAM. None: automatic, unknown.
    """

    rooms: tuple[DeviceRoom, ...]
    layer_bytes: tuple[int, ...]
    compute_bytes: int
    classes: tuple[SlotClassSpec, ...]
    top_k: int
    budget_bytes: int | None = None
    unit_tokens: int | None = None
    hot_per_layer: int | None = None
    staging_slots: int | None = None
    largest_unit_tokens: int = AUTO_UNITS[0]
    memory_bytes_per_second: float | None = None

    @property
    def is_asked(self) -> bool:
        """Whether the user chose how to use the devices, so that nothing else is weighed."""
        return self.hot_per_layer is not None or self.staging_slots is not None


@dataclass(frozen=True, slots=True)
class DeviceClassPlan:
    """`slots` for these layers on device number `device`; `hot_per_layer` of each layer are its hot zone."""

    device: int
    spec: SlotClassSpec
    slots: int
    hot_per_layer: int

    @property
    def size_bytes(self) -> int:
        return self.slots * self.spec.slot_bytes

    @property
    def is_complete(self) -> bool:
        """Whether every expert has a slot."""
        return self.slots >= self.spec.all_slots


@dataclass(frozen=True, slots=True)
class DevicePlan:
    """Layers from `first_layer` on are on devices, `layers[i]` of them on device i (the output is a layer).

    `used_bytes` per device, of `budget_bytes`. `unit_tokens`: the largest unit whose experts fit; None: any.
    """

    first_layer: int
    layers: tuple[int, ...]
    classes: tuple[DeviceClassPlan, ...] = ()
    budget_bytes: tuple[int, ...] = ()
    used_bytes: tuple[int, ...] = ()
    unit_tokens: int | None = None

    @property
    def device_layers(self) -> range:
        """Layers whose dense weights are on devices, wherever their experts are; the output counts too."""
        return range(self.first_layer, self.first_layer + sum(self.layers))

    @property
    def expert_layers(self) -> tuple[int, ...]:
        """Layers whose experts have slots on a device."""
        return tuple(sorted(layer for each in self.classes for layer in each.spec.layers))

    def expert_layers_on(self, device: int) -> tuple[int, ...]:
        """Layers whose experts have slots on device number `device`."""
        return tuple(sorted(n for each in self.classes if each.device == device for n in each.spec.layers))


def plan_devices(request: DeviceRequest) -> DevicePlan:
    """As many layers as fit, then slots for as many of their experts as fit."""
    budgets = tuple(_budget_bytes(request, room) for room in request.rooms)
    first, layers = _dense_layers(request, budgets)
    if not sum(layers):
        return DevicePlan(len(request.layer_bytes), layers, (), budgets, tuple(0 for _ in budgets))
    starts = [first + sum(layers[:index]) for index in range(len(layers))]
    spans = [range(start, start + count) for start, count in zip(starts, layers, strict=True)]
    used = [_dense_bytes(request, span) for span in spans]
    left = [budget - taken for budget, taken in zip(budgets, used, strict=True)]
    unit, classes = _expert_slots(request, spans, left)
    for each in classes:
        used[each.device] += each.size_bytes
    return DevicePlan(first, layers, classes, budgets, tuple(used), unit)


def _budget_bytes(request: DeviceRequest, room: DeviceRoom) -> int:
    """The user's cap, or what is free minus what the desktop may want meanwhile."""
    if request.budget_bytes is not None:
        return min(request.budget_bytes, room.free_bytes)
    return max(0, room.free_bytes - HEADROOM_BYTES)


def _dense_bytes(request: DeviceRequest, span: range) -> int:
    return sum(request.layer_bytes[layer] for layer in span) + (request.compute_bytes if span else 0)


def _dense_layers(request: DeviceRequest, budgets: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """First layer on a device, and how many each device gets: the most that fit everywhere."""
    n_layer = len(request.layer_bytes)
    for first in range(n_layer):
        layers = _shared(request, budgets, first)
        start, is_fitting = first, True
        for count, budget in zip(layers, budgets, strict=True):
            is_fitting &= not count or _dense_bytes(request, range(start, start + count)) <= budget
            start += count
        if is_fitting:
            return first, layers
    return n_layer, tuple(0 for _ in budgets)


def _shared(request: DeviceRequest, budgets: tuple[int, ...], first: int) -> tuple[int, ...]:
    """Layers from `first` on, shared in proportion to what the devices can take."""
    total, n_layer = sum(budgets), len(request.layer_bytes)
    counts, given = [], 0
    for index in range(len(budgets)):
        end = round((n_layer - first) * sum(budgets[: index + 1]) / total) if total else 0
        counts.append(end - given)
        given = end
    return tuple(counts)


def _expert_slots(
    request: DeviceRequest, spans: list[range], left: list[int]
) -> tuple[int | None, tuple[DeviceClassPlan, ...]]:
    """Slots for the experts of each device's layers, and the largest unit that all of them allow."""
    chosen: list[DeviceClassPlan] = []
    units: list[int] = []
    for device, span in enumerate(spans):
        specs = [spec for spec in (_among(each, span) for each in request.classes) if spec.layers]
        unit, plans = _device_slots(request, device, specs, left[device])
        chosen += plans
        units += [unit] if unit is not None else []
    return min(units, default=None), tuple(chosen)


def _device_slots(
    request: DeviceRequest, device: int, specs: list[SlotClassSpec], left: int
) -> tuple[int | None, list[DeviceClassPlan]]:
    """The quickest for one device within `left` bytes; and the unit it allows, None for any."""
    whole = _whole_layers(request, device, specs, left)
    if request.is_asked:
        return _asked(request, device, specs, left)
    if sum(len(each.spec.layers) for each in whole) == sum(len(spec.layers) for spec in specs):
        return None, whole
    for unit in _units(request):
        if unit < min(_LEAST_STAGED_UNIT, request.unit_tokens or _LEAST_STAGED_UNIT):
            break
        staged = _staged(request, device, specs, left, unit)
        if staged is not None:
            is_better = _seconds(request, device, specs, staged) <= _seconds(request, device, specs, whole)
            return (unit, staged) if is_better else (None, whole)
    return None, whole


def _seconds(
    request: DeviceRequest, device: int, specs: list[SlotClassSpec], plans: list[DeviceClassPlan]
) -> float:
    """What a decoded token waits for experts: copies over the link, or the processor reading them.

    As if every expert were equally likely; a device's own computing is not counted.
    """
    link, memory = request.rooms[device].link_bytes_per_second, request.memory_bytes_per_second
    if link is None or memory is None:
        return float(sum(len(spec.layers) for spec in specs) - sum(len(p.spec.layers) for p in plans))
    per_layer = {layer: request.top_k * spec.slot_bytes for spec in specs for layer in spec.layers}
    seconds = sum(size / memory for size in per_layer.values())
    for plan in plans:
        share = 1 - plan.slots / plan.spec.all_slots
        seconds += sum(per_layer[n] * (share / link - 1 / memory) for n in plan.spec.layers)
    return seconds


def _asked(
    request: DeviceRequest, device: int, specs: list[SlotClassSpec], left: int
) -> tuple[int | None, list[DeviceClassPlan]]:
    """The asked hot zone and staging; what doesn't fit shrinks: the hot zone, the unit, then the layers."""
    layers = sorted(layer for spec in specs for layer in spec.layers)
    for start in range(len(layers)):
        kept = [spec for spec in (_among(each, layers[start:]) for each in specs) if spec.layers]
        for unit in _units(request):
            plans = _staged(request, device, kept, left, unit)
            if plans is not None:
                return (None if all(each.is_complete for each in plans) else unit), plans
    return None, []


def _whole_layers(
    request: DeviceRequest, device: int, specs: list[SlotClassSpec], left: int
) -> list[DeviceClassPlan]:
    """A slot for every expert of as many layers as fit, the last ones."""
    sizes = sorted(
        ((layer, spec.n_expert * spec.slot_bytes) for spec in specs for layer in spec.layers), reverse=True
    )
    kept: list[int] = []
    for layer, size in sizes:
        left -= size
        if left < 0:
            break
        kept.append(layer)
    parts = [spec for spec in (_among(each, kept) for each in specs) if spec.layers]
    plans = [DeviceClassPlan(device, spec, spec.all_slots, spec.n_expert) for spec in parts]
    return [plan for plan in plans if _is_allocatable(request.rooms[device], plan)]


def _units(request: DeviceRequest) -> Iterator[int]:
    largest = request.unit_tokens or request.largest_unit_tokens
    yield largest
    yield from (unit for unit in AUTO_UNITS if unit < largest)


def _among(spec: SlotClassSpec, layers: Container[int]) -> SlotClassSpec:
    return SlotClassSpec(tuple(n for n in spec.layers if n in layers), spec.n_expert, spec.slot_bytes)


def _staged(
    request: DeviceRequest, device: int, specs: list[SlotClassSpec], left: int, unit: int
) -> list[DeviceClassPlan] | None:
    """Hot zones and staging within `left` bytes; None if the experts of a unit can't be staged."""
    asked_hot = DEFAULT_HOT if request.hot_per_layer is None else request.hot_per_layer
    for hot in range(asked_hot, -1, -1):
        plans = [_class_slots(request, device, spec, hot, unit) for spec in specs]
        spare = left - sum(plan.size_bytes for plan in plans)
        if spare >= 0 and all(_is_allocatable(request.rooms[device], plan) for plan in plans):
            return plans if request.staging_slots is not None else _grown(request, plans, spare)
    return None


def _class_slots(
    request: DeviceRequest, device: int, spec: SlotClassSpec, hot: int, unit: int
) -> DeviceClassPlan:
    """The asked staging, at least what a unit may miss at once."""
    hot = min(hot, spec.n_expert)
    need = min(worst_case_experts(spec.n_expert, request.top_k, unit), spec.n_expert - hot)
    slots = hot * len(spec.layers) + max(need, request.staging_slots or 0)
    return DeviceClassPlan(device, spec, min(slots, spec.all_slots), hot)


def _is_allocatable(room: DeviceRoom, plan: DeviceClassPlan) -> bool:
    """Each projection is a buffer of its own, none larger than the whole."""
    return plan.size_bytes <= room.largest_buffer_bytes


def _grown(request: DeviceRequest, plans: list[DeviceClassPlan], spare: int) -> list[DeviceClassPlan]:
    """What is left becomes staging, the same share of its experts for every class."""
    wanted = sum((p.spec.all_slots - p.slots) * p.spec.slot_bytes for p in plans)
    share = min(1.0, spare / wanted) if wanted else 0.0
    grown = []
    for plan in plans:
        largest = request.rooms[plan.device].largest_buffer_bytes // plan.spec.slot_bytes
        slots = min(plan.slots + int((plan.spec.all_slots - plan.slots) * share), largest)
        grown.append(DeviceClassPlan(plan.device, plan.spec, slots, plan.hot_per_layer))
    return grown
