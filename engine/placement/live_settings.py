"""Which settings of a loaded model can change between two passes: the roles of its slots, and the unit.

Everything else (memory, devices, layout of the weights, context) needs a load.
"""

from __future__ import annotations

from dataclasses import fields, replace

from engine.config import LoadSettings, Routing
from engine.model_facts import ModelInfo, SlotClassInfo
from engine.placement.placement_plan import (
    ClassPlan,
    PlacementPlan,
    PlacementRequest,
    SlotClassSpec,
    least_slots,
)
from engine.placement.unit_choice import plan_placement

_ROLES = ("is_pool_fixed", "pool_per_layer")


def needing_reload(asked: LoadSettings, wanted: LoadSettings, model: ModelInfo) -> tuple[str, ...]:
    """Names of the settings that differ and that only a load can bring about.

    `asked`: what `model` was asked for last.
    """
    changed = [f.name for f in fields(LoadSettings) if getattr(asked, f.name) != getattr(wanted, f.name)]
    return tuple(name for name in changed if not _is_live(name, wanted, model))


def live_plan(wanted: LoadSettings, model: ModelInfo) -> PlacementPlan:
    """Pools, hot zones and unit on the slots that the model has, planned as a load plans them."""
    current_unit = None if wanted.unit_tokens else model.largest_unit_tokens
    return plan_placement(_request(wanted, model), current_unit)


def live_info(wanted: LoadSettings, model: ModelInfo) -> ModelInfo:
    """What such a model is with these settings; its notes and locked bytes are those of before."""
    plan = live_plan(wanted, model)
    return replace(
        model,
        unit_tokens=plan.unit_tokens,
        requested_unit_tokens=wanted.unit_tokens,
        routing=wanted.routing,
        is_pool_fixed=wanted.is_pool_fixed,
        slot_classes=tuple(map(_class_info, model.slot_classes, plan.classes)),
    )


def _class_info(info: SlotClassInfo, plan: ClassPlan) -> SlotClassInfo:
    return replace(
        info,
        pool_per_layer=plan.decode_pool,
        window_slots=plan.slots - len(plan.spec.layers) * plan.decode_pool,
        hot_per_layer=info.hot_per_layer if info.device_slots else plan.hot_per_layer,
    )


def _is_live(name: str, wanted: LoadSettings, model: ModelInfo) -> bool:
    match name:
        case "unit_tokens":
            unit = wanted.unit_tokens
            return model.is_unit_open if unit is None else unit <= model.largest_unit_tokens
        case "hot_per_layer":
            return not has_device_slots(model)  # a hot zone there has memory of its own
        case "routing":
            return wanted.routing is Routing.EXACT or _can_be_resident(wanted, model)
        case _:
            return name in _ROLES


def has_device_slots(model: ModelInfo) -> bool:
    """Whether some layers' experts have slots in the memory of a device."""
    return any(each.device_slots for each in model.slot_classes)


def _can_be_resident(wanted: LoadSettings, model: ModelInfo) -> bool:
    request = _request(wanted, model)
    places = zip(model.slot_classes, request.classes, strict=True)
    return all(each.slots >= least_slots(request, spec) for each, spec in places)


def _request(wanted: LoadSettings, model: ModelInfo) -> PlacementRequest:
    largest = min(model.largest_unit_tokens, model.context_tokens)
    return PlacementRequest(
        classes=tuple(SlotClassSpec(c.layers, c.n_expert, c.slot_bytes) for c in model.slot_classes),
        top_k=model.top_k,
        slots_budget_bytes=model.slots_bytes,
        unit_tokens=wanted.unit_tokens and min(wanted.unit_tokens, largest),
        largest_unit_tokens=largest,
        pool_per_layer=wanted.pool_per_layer,
        is_resident=wanted.routing is Routing.RESIDENT,
        hot_per_layer=0 if has_device_slots(model) else wanted.hot_per_layer,
        slots=tuple(each.slots for each in model.slot_classes),
    )
