"""Slots and bytes per tier, from what the engine planned and where experts are now."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import ExpertsSampled, ModelInfo, SlotClassInfo
from engine.placement.tier import Tier


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
    """Experts in each tier per layer, shape (moe layers,); `pool_slots` belong to the layer for good."""

    layers: tuple[int, ...]
    vram: NDArray[np.int64]
    pool: NDArray[np.int64]
    window: NDArray[np.int64]
    pool_slots: NDArray[np.int64]


def layer_figures(model: ModelInfo, sample: ExpertsSampled) -> LayerFigures:
    """Count tiers per layer of `sample`."""
    classes = _class_of_layer(model)
    return LayerFigures(
        sample.moe_layers,
        _count(sample, Tier.VRAM),
        _count(sample, Tier.HOST_POOL),
        _count(sample, Tier.HOST_WINDOW),
        np.array([_pool_slots(classes.get(layer)) for layer in sample.moe_layers], np.int64),
    )


def tier_figures(model: ModelInfo, sample: ExpertsSampled) -> tuple[TierFigures, ...]:
    """One row per tier, fastest first; bytes of a resident expert are its slot's."""
    pool_slots, pool_bytes = _planned_pool(model)
    window_bytes = sum(c.window_slots * c.slot_bytes for c in model.slot_classes)
    planned: dict[Tier, tuple[int | None, int | None]] = {
        Tier.VRAM: (None, None),
        Tier.HOST_POOL: (pool_slots, pool_bytes),
        Tier.HOST_WINDOW: (sum(c.window_slots for c in model.slot_classes), window_bytes),
        Tier.DISK: (None, None),
    }
    return tuple(_tier_row(model, sample, tier, *planned[tier]) for tier in planned)


def resident_share(sample: ExpertsSampled) -> float | None:
    """Part of all experts that are in some memory now; None without experts."""
    if not sample.tiers.size:
        return None
    return float(np.count_nonzero(sample.tiers != Tier.DISK)) / sample.tiers.size


def _tier_row(
    model: ModelInfo, sample: ExpertsSampled, tier: Tier, slots: int | None, slots_bytes: int | None
) -> TierFigures:
    counts = _count(sample, tier)
    used_bytes = int((counts * _bytes_per_layer(model, sample, tier)).sum())
    return TierFigures(tier, int(counts.sum()), used_bytes, slots, slots_bytes)


def _bytes_per_layer(model: ModelInfo, sample: ExpertsSampled, tier: Tier) -> NDArray[np.int64]:
    classes = _class_of_layer(model)
    if tier is Tier.DISK:
        return np.full(len(sample.moe_layers), model.expert_bytes, np.int64)
    sizes = [classes[la].slot_bytes if la in classes else model.expert_bytes for la in sample.moe_layers]
    return np.array(sizes, np.int64)


def _planned_pool(model: ModelInfo) -> tuple[int, int]:
    slots = [c.pool_per_layer * len(c.layers) for c in model.slot_classes]
    return sum(slots), sum(n * c.slot_bytes for n, c in zip(slots, model.slot_classes, strict=True))


def _class_of_layer(model: ModelInfo) -> dict[int, SlotClassInfo]:
    return {layer: slot_class for slot_class in model.slot_classes for layer in slot_class.layers}


def _pool_slots(slot_class: SlotClassInfo | None) -> int:
    return slot_class.pool_per_layer if slot_class else 0


def _count(sample: ExpertsSampled, tier: Tier) -> NDArray[np.int64]:
    counts: NDArray[np.int64] = (sample.tiers == tier).sum(axis=1, dtype=np.int64)
    return counts
