"""How many expert slots each class of layers gets if so many tokens pass a layer together.

Pure arithmetic on sizes. A class is a set of layers whose experts have the same projections, types and
shapes and so can share slots. Which unit is best is decided in `unit_choice`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

from engine.errors import UsageError
from engine.placement.hot_zone import DEFAULT_HOT

DEFAULT_POOL = 20  # experts per layer in resident routing
# Of fewer slots, a hot zone of the full size costs hits (“simulate”: a chat with 9 slots per layer lost 1.4
# points of 63 with 5 hot ones, 0.1 with 2; with 19 slots, 5 hot ones cost nothing).
_SLOTS_PER_HOT = 4
AUTO_UNITS = (512, 256, 128, 64, 32, 16, 8, 4, 3, 2, 1)
_SHARE_STEPS = 1 << 24  # how finely the classes' common share of their experts is divided


@dataclass(frozen=True, slots=True)
class SlotClassSpec:
    """`slot_bytes`: memory of one slot with its padding, all projections and biases."""

    layers: tuple[int, ...]
    n_expert: int
    slot_bytes: int

    @property
    def all_slots(self) -> int:
        return len(self.layers) * self.n_expert


def _no_bytes(_: int) -> int:
    return 0


@dataclass(frozen=True, slots=True)
class PlacementRequest:
    """`slots_budget_bytes`: what is left after everything but slots and what `unit_bytes` says.

    `unit_tokens` None: automatic. `unit_bytes`: memory that a unit of so many tokens takes beside slots,
    never less for more tokens. `pool_per_layer`, `hot_per_layer`: asked size of the pools and of the hot
    zone, None for automatic. `is_resident`: resident routing. `slots`: of each class, where they are there.
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
    unit_bytes: Callable[[int], int] = _no_bytes
    slots: tuple[int, ...] | None = None


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


def plan_for_unit(request: PlacementRequest, unit_tokens: int) -> PlacementPlan | None:
    """Share what such a unit leaves of the budget among the classes; None if its experts might not fit.

    Every class gets the same share of its experts (experts are equally likely as far as the planner
    knows), never less than top-k, never more than all.
    """
    counts = _slot_counts(request, unit_tokens)
    if counts is None:
        return None
    places = list(zip(request.classes, counts, strict=True))
    if request.is_resident:
        plans = [_plan_resident(request, *each) for each in places]
        is_fitting = all(_has_window(plan, unit_tokens) for plan in plans)
    else:
        needs = [worst_case_experts(spec.n_expert, request.top_k, unit_tokens) for spec, _ in places]
        is_fitting = all(slots >= need for (_, slots), need in zip(places, needs, strict=True))
        plans = [_plan_exact(request, *each, unit_tokens) for each in places] if is_fitting else []
    return PlacementPlan(tuple(plans), unit_tokens) if is_fitting else None


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


def _plan_resident(request: PlacementRequest, spec: SlotClassSpec, slots: int) -> ClassPlan:
    """A pool of the asked size, but of what a token picks at least, and no larger than the slots allow.

    The window holds rank-0 misses.
    """
    wanted = max(request.pool_per_layer or DEFAULT_POOL, min(request.top_k, spec.n_expert))
    pool = min(wanted, _most_members(spec, slots))
    return ClassPlan(spec, slots, pool, min(_asked_hot(request), pool))


def _has_window(plan: ClassPlan, unit_tokens: int) -> bool:
    """Of a unit of n tokens at most min(n, experts - pool) experts are outside the pool."""
    window = plan.slots - plan.decode_pool * len(plan.spec.layers)
    return window >= min(unit_tokens, plan.spec.n_expert - plan.decode_pool)


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


def least_bytes(request: PlacementRequest) -> int:
    """Slots without which no token can pass."""
    return sum(least_slots(request, spec) * spec.slot_bytes for spec in request.classes)


def _slot_counts(request: PlacementRequest, unit_tokens: int) -> list[int] | None:
    """Slots of each class beside such a unit, never fewer for more memory; None if the least don't fit."""
    least = [least_slots(request, spec) for spec in request.classes]
    if request.slots is not None:
        is_enough = all(n >= low for n, low in zip(request.slots, least, strict=True))
        return list(request.slots) if is_enough else None
    if request.slots_per_class is not None:
        return [
            min(max(request.slots_per_class, low), spec.all_slots)
            for spec, low in zip(request.classes, least, strict=True)
        ]
    budget_bytes = request.slots_budget_bytes - request.unit_bytes(unit_tokens)

    def counts(step: int) -> list[int]:
        return [
            max(low, spec.all_slots * step // _SHARE_STEPS)
            for spec, low in zip(request.classes, least, strict=True)
        ]

    def is_too_much(step: int) -> bool:
        sizes = zip(counts(step), request.classes, strict=True)
        return sum(n * spec.slot_bytes for n, spec in sizes) > budget_bytes

    steps = bisect_left(range(_SHARE_STEPS + 1), True, key=is_too_much)
    return counts(steps - 1) if steps else None
