"""How many expert slots each class of layers gets, and how many tokens may pass a layer together.

Pure arithmetic on sizes. A class is a set of layers whose experts have the same projections, types and
shapes and so can share slots.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.config import format_size
from engine.errors import BudgetError, UsageError
from engine.placement.hot_zone import DEFAULT_HOT

DEFAULT_POOL = 20  # experts per layer in resident routing
# Of fewer slots, a hot zone of the full size costs hits (“simulate”: a chat with 9 slots per layer lost 1.4
# points of 63 with 5 hot ones, 0.1 with 2; with 19 slots, 5 hot ones cost nothing).
_SLOTS_PER_HOT = 4
AUTO_UNITS = (512, 256, 128, 64, 32, 16, 8, 4, 3, 2, 1)


@dataclass(frozen=True, slots=True)
class SlotClassSpec:
    """`slot_bytes`: memory of one slot with its padding, all projections and biases."""

    layers: tuple[int, ...]
    n_expert: int
    slot_bytes: int

    @property
    def all_slots(self) -> int:
        return len(self.layers) * self.n_expert


@dataclass(frozen=True, slots=True)
class PlacementRequest:
    """`slots_budget_bytes`: what is left for slots after everything else. `unit_tokens` None: automatic.

    `pool_per_layer`, `hot_per_layer`: asked size of the pools and of the hot zone, None for automatic.
    `is_resident`: resident routing.
    """

    classes: tuple[SlotClassSpec, ...]
    top_k: int
    slots_budget_bytes: int
    unit_tokens: int | None = None
    slots_per_class: int | None = None
    largest_unit_tokens: int = AUTO_UNITS[0]
    pool_per_layer: int | None = None
    is_resident: bool = False
    hot_per_layer: int | None = None


@dataclass(frozen=True, slots=True)
class ClassPlan:
    """`decode_pool`: slots per layer that keep their expert; the rest is the window.

    `hot_per_layer` of them can't even be taken as a last resort.
    """

    spec: SlotClassSpec
    slots: int
    decode_pool: int
    hot_per_layer: int = 0

    @property
    def is_fully_resident(self) -> bool:
        return self.slots >= self.spec.all_slots

    @property
    def zone_slots(self) -> int:
        """Slots of the hot zone; none where nothing is ever evicted and being hot is a label."""
        return 0 if self.is_fully_resident else self.hot_per_layer * len(self.spec.layers)


@dataclass(frozen=True, slots=True)
class PlacementPlan:
    """Classes in the order of the request."""

    classes: tuple[ClassPlan, ...]
    unit_tokens: int

    @property
    def slots_bytes(self) -> int:
        return sum(plan.slots * plan.spec.slot_bytes for plan in self.classes)

    @property
    def zone_bytes(self) -> int:
        """Of `slots_bytes`, the hot zones."""
        return sum(plan.zone_slots * plan.spec.slot_bytes for plan in self.classes)


def plan_placement(request: PlacementRequest) -> PlacementPlan:
    """Share the budget among the classes; raises BudgetError if one token's experts don't fit.

    Every class gets the same share of its experts (experts are equally likely as far as the planner
    knows), never less than top-k, never more than all.
    """
    counts = _slot_counts(request)
    if request.is_resident:
        return _plan_resident(request, counts)
    unit = _unit_tokens(request, counts)
    plans = [_plan_exact(request, *each, unit) for each in zip(request.classes, counts, strict=True)]
    return PlacementPlan(tuple(plans), unit)


def _plan_exact(request: PlacementRequest, spec: SlotClassSpec, slots: int, unit_tokens: int) -> ClassPlan:
    largest_pool = pool_per_layer(spec, slots, min(request.top_k, spec.n_expert))
    pool = min(largest_pool, request.pool_per_layer or largest_pool)
    if slots >= spec.all_slots:
        return ClassPlan(spec, slots, pool, min(pool, _asked_hot(request)))
    need = worst_case_experts(spec.n_expert, request.top_k, unit_tokens)
    return ClassPlan(spec, slots, pool, min(pool, hot_per_layer(spec, slots, need, request.hot_per_layer)))


def hot_per_layer(spec: SlotClassSpec, slots: int, need: int, asked: int | None = None) -> int:
    """Hot experts of each layer with exact routing, where one unit may need `need` experts of a layer.

    As `asked` (None: what costs no hits), but never so many that a layer might not get its slots.
    """
    automatic = min(DEFAULT_HOT, slots // len(spec.layers) // _SLOTS_PER_HOT)
    return min(automatic if asked is None else asked, pool_per_layer(spec, slots, need))


def _asked_hot(request: PlacementRequest) -> int:
    return DEFAULT_HOT if request.hot_per_layer is None else request.hot_per_layer


def _plan_resident(request: PlacementRequest, counts: list[int]) -> PlacementPlan:
    """Pools of the asked size, smaller only where the slots demand it; the window holds rank-0 misses.

    Of a unit of n tokens at most min(n, experts - pool) experts are outside the pool.
    """
    pools = [
        min(request.pool_per_layer or DEFAULT_POOL, _most_members(spec, slots))
        for spec, slots in zip(request.classes, counts, strict=True)
    ]
    largest = request.largest_unit_tokens
    for spec, slots, pool in zip(request.classes, counts, pools, strict=True):
        window = slots - pool * len(spec.layers)
        if window < spec.n_expert - pool:
            largest = min(largest, window)
    wanted = request.unit_tokens or largest
    unit = min(wanted, largest) if request.unit_tokens else next(u for u in AUTO_UNITS if u <= largest)
    plans = zip(request.classes, counts, pools, strict=True)
    hot = _asked_hot(request)
    return PlacementPlan(
        tuple(ClassPlan(spec, slots, pool, min(hot, pool)) for spec, slots, pool in plans), unit
    )


def _most_members(spec: SlotClassSpec, slots: int) -> int:
    return spec.n_expert if slots >= spec.all_slots else max(slots - 1, 0) // len(spec.layers)


def least_slots(request: PlacementRequest, spec: SlotClassSpec) -> int:
    """Without these no token can pass: its experts, or pools that offer a choice and one slot more."""
    top_k = min(request.top_k, spec.n_expert)
    return min(len(spec.layers) * top_k + 1, spec.all_slots) if request.is_resident else top_k


def worst_case_experts(n_expert: int, top_k: int, unit_tokens: int) -> int:
    """Most distinct experts one unit can ask of a layer: min(experts, unit x top-k)."""
    return min(n_expert, unit_tokens * top_k)


def pool_per_layer(spec: SlotClassSpec, slots: int, need: int) -> int:
    """Largest pool per layer that leaves a window for two layers' worst misses, else for one's.

    With a pool of p, a layer that needs `need` experts misses at most min(need, experts - p). Two layers'
    worth lets the next layer stream in while this one computes; a window for one is the least that works.
    """
    n_layer = len(spec.layers)
    for layers_ahead in (2, 1):
        for pool in range(min(spec.n_expert, slots // n_layer), -1, -1):
            window = slots - n_layer * pool
            if window >= layers_ahead * min(need, spec.n_expert - pool):
                return pool
    raise UsageError(
        f"{slots} slots can't hold the {need} experts that one unit may need.", "Use a smaller unit."
    )


def _slot_counts(request: PlacementRequest) -> list[int]:
    least = [least_slots(request, spec) for spec in request.classes]
    if request.slots_per_class is not None:
        return [
            min(max(request.slots_per_class, low), spec.all_slots)
            for spec, low in zip(request.classes, least, strict=True)
        ]
    least_bytes = sum(n * spec.slot_bytes for n, spec in zip(least, request.classes, strict=True))
    if least_bytes > request.slots_budget_bytes:
        missing = format_size(least_bytes - request.slots_budget_bytes)
        raise BudgetError(
            f"The memory budget is {missing} too small for the experts of a single token.",
            "Raise the budget (--ram), or make the context smaller (--ctx).",
        )
    all_bytes = sum(spec.all_slots * spec.slot_bytes for spec in request.classes)
    share = min(1.0, request.slots_budget_bytes / all_bytes) if all_bytes else 1.0
    counts = [
        min(spec.all_slots, max(low, int(spec.all_slots * share)))
        for spec, low in zip(request.classes, least, strict=True)
    ]
    return _shrink_to_budget(request, counts, least)


def _shrink_to_budget(request: PlacementRequest, counts: list[int], least: list[int]) -> list[int]:
    """Raising small classes to top-k may overshoot: take the excess from the classes with most to give."""
    excess = (
        sum(n * spec.slot_bytes for n, spec in zip(counts, request.classes, strict=True))
        - request.slots_budget_bytes
    )
    order = sorted(range(len(counts)), key=lambda i: least[i] - counts[i])
    for index in order:
        if excess <= 0:
            break
        size = request.classes[index].slot_bytes
        taken = min(counts[index] - least[index], -(-excess // size))
        counts[index] -= taken
        excess -= taken * size
    return counts


def _unit_tokens(request: PlacementRequest, counts: list[int]) -> int:
    largest = min(
        (
            _largest_unit(spec, slots, request.top_k)
            for spec, slots in zip(request.classes, counts, strict=True)
        ),
        default=request.largest_unit_tokens,
    )
    if request.unit_tokens is not None:
        return max(1, min(request.unit_tokens, largest))
    return next(unit for unit in AUTO_UNITS if unit <= max(1, min(largest, request.largest_unit_tokens)))


def _largest_unit(spec: SlotClassSpec, slots: int, top_k: int) -> int:
    """A unit is bounded only while its worst case is smaller than the layer's expert count."""
    return AUTO_UNITS[0] if slots >= spec.n_expert else slots // top_k
