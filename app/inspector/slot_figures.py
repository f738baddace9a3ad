"""Slots and bytes per tier, from what the engine planned and where experts are now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import ExpertsSampled
from engine.model_facts import ModelInfo, SlotClassInfo
from engine.placement.tier import Tier

MEMORY_TIERS = (Tier.VRAM, Tier.HOT, Tier.HOST_POOL, Tier.HOST_WINDOW)  # the quickest first


@dataclass(frozen=True, slots=True)
class TierFigures:
    """`experts` are in the tier now, in `used_bytes`; `slots` is None where nothing is planned."""

    tier: Tier
    experts: int
    used_bytes: int
    slots: int | None
    slots_bytes: int | None


@dataclass(frozen=True, slots=True)
class LayerFigures:
    """Experts per layer, shape (moe layers,), in each of MEMORY_TIERS.

    `pool_slots` belong to the layer for good, `hot_slots` of them are its hot zone.
    """

    layers: tuple[int, ...]
    experts: Mapping[Tier, NDArray[np.int64]]
    pool_slots: NDArray[np.int64]
    hot_slots: NDArray[np.int64]


def layer_figures(model: ModelInfo, sample: ExpertsSampled) -> LayerFigures:
    """Count tiers per layer of `sample`."""
    classes = _class_of_layer(model)
    planned = [classes.get(layer) for layer in sample.moe_layers]
    return LayerFigures(
        sample.moe_layers,
        {tier: _count(sample, tier) for tier in MEMORY_TIERS},
        np.array([each.pool_per_layer if each else 0 for each in planned], np.int64),
        np.array([each.hot_per_layer if each else 0 for each in planned], np.int64),
    )


def tier_figures(model: ModelInfo, sample: ExpertsSampled) -> tuple[TierFigures, ...]:
    """One row per tier of this model, quickest first; bytes of a resident expert are its slot's."""
    return tuple(_tier_row(model, sample, tier) for tier in tiers_of(model))


def tiers_of(model: ModelInfo) -> tuple[Tier, ...]:
    """Where experts of this model can be, quickest first."""
    has_vram = any(each.device_slots for each in model.slot_classes)
    has_hot = any(each.hot_per_layer and not each.device_slots for each in model.slot_classes)
    left_out = {Tier.VRAM: not has_vram, Tier.HOT: not has_hot}
    return tuple(tier for tier in (*MEMORY_TIERS, Tier.DISK) if not left_out.get(tier, False))


def resident_share(sample: ExpertsSampled) -> float | None:
    """Part of all experts that are in some memory now; None without experts."""
    if not sample.tiers.size:
        return None
    return float(np.count_nonzero(sample.tiers != Tier.DISK)) / sample.tiers.size


def used_slot_bytes(model: ModelInfo, sample: ExpertsSampled, tiers: tuple[Tier, ...]) -> int:
    """Bytes of the slots in these tiers that hold an expert now."""
    return sum(_used_bytes(model, sample, tier) for tier in tiers)


def planned_slots(slot_class: SlotClassInfo, tier: Tier) -> int:
    """Slots of a class in one tier, over all its layers; 0 for the disk."""
    layers, hot = len(slot_class.layers), slot_class.hot_per_layer
    return {
        Tier.VRAM: slot_class.device_slots,
        Tier.HOT: 0 if slot_class.device_slots else hot * layers,
        Tier.HOST_POOL: (slot_class.pool_per_layer - hot) * layers,
        Tier.HOST_WINDOW: slot_class.window_slots,
        Tier.DISK: 0,
    }[tier]


def _tier_row(model: ModelInfo, sample: ExpertsSampled, tier: Tier) -> TierFigures:
    slots = [planned_slots(each, tier) for each in model.slot_classes]
    size = sum(n * each.slot_bytes for n, each in zip(slots, model.slot_classes, strict=True))
    is_planned = tier is not Tier.DISK
    return TierFigures(
        tier,
        int(_count(sample, tier).sum()),
        _used_bytes(model, sample, tier),
        sum(slots) if is_planned else None,
        size if is_planned else None,
    )


def _used_bytes(model: ModelInfo, sample: ExpertsSampled, tier: Tier) -> int:
    return int((_count(sample, tier) * _bytes_per_layer(model, sample, tier)).sum())


def _bytes_per_layer(model: ModelInfo, sample: ExpertsSampled, tier: Tier) -> NDArray[np.int64]:
    classes = _class_of_layer(model)
    if tier is Tier.DISK:
        return np.full(len(sample.moe_layers), model.expert_bytes, np.int64)
    sizes = [classes[la].slot_bytes if la in classes else model.expert_bytes for la in sample.moe_layers]
    return np.array(sizes, np.int64)


def _class_of_layer(model: ModelInfo) -> dict[int, SlotClassInfo]:
    return {layer: slot_class for slot_class in model.slot_classes for layer in slot_class.layers}


def _count(sample: ExpertsSampled, tier: Tier) -> NDArray[np.int64]:
    counts: NDArray[np.int64] = (sample.tiers == tier).sum(axis=1, dtype=np.int64)
    return counts
