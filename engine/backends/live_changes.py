"""Settings that a loaded model takes over between two passes, on the slots and the context that it has.

Nothing is read for them but the members of new pools, and the KV cache stays as it is: whoever re-uses it
must know under which routing it was computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from engine.backends.base import CancelToken
from engine.backends.heat_keeper import NO_HEAT, HeatKeeper
from engine.backends.loaded import Loaded
from engine.backends.model_info import unit_notes
from engine.config import LoadSettings, Routing
from engine.errors import Cancelled, DiskReadError, UsageError
from engine.model_facts import ModelInfo
from engine.offload.expert_pipeline import ExpertPipeline
from engine.offload.locked_memory import ZoneLock, lock_zones, unlock_zones
from engine.offload.resident_routing import ResidentRouting
from engine.offload.slot_layers import LayerSlots, SlotClass
from engine.placement.live_settings import live_info, live_plan, needing_reload
from engine.placement.placement_plan import PlacementPlan
from engine.placement.resident_pools import PoolShape, ResidentPools


def adjust(loaded: Loaded, wanted: LoadSettings, cancel: CancelToken) -> ModelInfo:
    """Let `wanted` be in force; returns what is. The engine thread, between passes.

    Takes milliseconds, and the time to read the members of new pools; on `cancel`, or if they can't be read
    now, the next pass reads them. Raises UsageError if a load is needed, UnsupportedModelError if the graph
    doesn't allow resident routing; nothing has changed then.
    """
    names = needing_reload(loaded.settings, wanted, loaded.info)
    if names:
        raise UsageError(f"Only a reload can change {', '.join(names)}.", "Load the model again.")
    if loaded.pipeline is not None and wanted.routing is Routing.RESIDENT:
        loaded.pipeline.check_rankings()
    plan, pools_before = live_plan(wanted, loaded.info), _pool_sizes(loaded)
    lock = _replan(loaded, plan)
    if loaded.pipeline is not None and loaded.layers:
        _route(loaded, loaded.pipeline, wanted, has_same_pools=_pool_sizes(loaded) == pools_before)
        with suppress(Cancelled, DiskReadError):  # the next pass tries again, and says what is wrong
            loaded.pipeline.filling.load_members(cancel.check)
        loaded.pipeline.promotion.label_all()
        loaded.pipeline.promotion.run()
    loaded.result = replace(loaded.result, info=_described(loaded, wanted, lock))
    loaded.settings, loaded.lock = wanted, lock
    return loaded.info


def open_resident(
    settings: LoadSettings, layers: Sequence[LayerSlots], heat: HeatKeeper, top_k: int
) -> ResidentRouting | None:
    """Resident routing with pools elected from what was learned before; None for exact routing."""
    if settings.routing is not Routing.RESIDENT or not layers:
        return None
    shapes = [PoolShape(layer.experts.n_expert, layer.slot_class.plan.decode_pool) for layer in layers]
    pools = ResidentPools(shapes, heat.heat(), settings.is_pool_fixed)
    return ResidentRouting([layer.experts.layer for layer in layers], top_k, pools)


def lock_hot(classes: Sequence[SlotClass]) -> ZoneLock:
    """Lock the hot zones of all classes into RAM."""
    return lock_zones([s for each in classes for s in each.arena.zone_spans(each.table.zone_slots)])


def _pool_sizes(loaded: Loaded) -> list[int]:
    return [each.plan.decode_pool for each in loaded.classes]


def _replan(loaded: Loaded, plan: PlacementPlan) -> ZoneLock:
    """Give every class its new roles; what of the hot zones is locked then."""
    has_same_hot = [c.plan.hot_per_layer for c in loaded.classes] == [c.hot_per_layer for c in plan.classes]
    if not has_same_hot:
        unlock_zones([s for c in loaded.classes for s in c.arena.zone_spans(c.table.zone_slots)])
    for slot_class, each in zip(loaded.classes, plan.classes, strict=True):
        slot_class.plan = each
        if not has_same_hot:
            slot_class.table.set_hot(each.hot_per_layer)
    return loaded.lock if has_same_hot else lock_hot(loaded.classes)


def _route(loaded: Loaded, pipeline: ExpertPipeline, wanted: LoadSettings, has_same_pools: bool) -> None:
    """Other routing or pools begin with what a load would know; pools that stay keep their members."""
    before, pools = loaded.settings, loaded.pools
    is_same = before.routing is wanted.routing
    if is_same and (pools is None or (has_same_pools and pools.is_fixed is wanted.is_pool_fixed)):
        return
    loaded.heat.go_on(wanted, loaded.layers, pools, loaded.statistics)
    if is_same and has_same_pools and pools is not None:
        pools.is_fixed = wanted.is_pool_fixed
        return
    loaded.heat.forget_uses(loaded.layers)
    for layer in loaded.layers:
        layer.slot_class.table.set_pool(layer.row, np.empty(0, np.int64))
    pipeline.route_by(open_resident(wanted, loaded.layers, loaded.heat, loaded.info.top_k))


# --- what is told ---------------------------------------------------------------------------


def _described(loaded: Loaded, wanted: LoadSettings, lock: ZoneLock) -> ModelInfo:
    before, info = loaded.info, live_info(wanted, loaded.info)
    stale = {*unit_notes(before.requested_unit_tokens, before.unit_tokens), *loaded.lock.notes, NO_HEAT}
    is_unlearned = wanted.routing is Routing.RESIDENT and wanted.is_pool_fixed and loaded.heat.heat() is None
    notes = (
        *(note for note in info.notes if note not in stale),
        *unit_notes(wanted.unit_tokens, info.unit_tokens),
        *lock.notes,
        *((NO_HEAT,) if is_unlearned else ()),
    )
    return replace(info, locked_bytes=lock.locked_bytes, notes=notes)
