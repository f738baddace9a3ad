"""What a placement plan will likely give: expected hits, bytes from disk, and tokens per second they allow.

Tokens are taken as independent, each picking an expert with its chance, and the slots as filled by a warm-up.
Real text repeats itself, so real hit rates are usually higher.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.placement.placement_plan import ClassPlan, PlacementPlan
from engine.placement.use_estimate import KnownUse, UseEstimate
from engine.placement.warm_up import Chances, warm_up_experts


@dataclass(frozen=True, slots=True)
class LayerForecast:
    """Distinct experts that one unit asks a layer for, and how many of them must be read; expected values."""

    layer: int
    requests: float
    misses: float


@dataclass(frozen=True, slots=True)
class RateRange:
    """Tokens per second: `low` if reading and computing never overlap, `high` if they always do."""

    low_per_second: float
    high_per_second: float


def forecast_layers(
    plan: PlacementPlan, top_k: int, is_resident: bool, known: Sequence[KnownUse | None], n_tokens: int
) -> list[LayerForecast]:
    """For units of `n_tokens`; `known` of each class, None: uniform use."""
    found = []
    for class_plan, use in zip(plan.classes, known, strict=True):
        spec = class_plan.spec
        k = min(top_k, spec.n_expert)
        chance = UseEstimate(len(spec.layers), spec.n_expert, k, use).chance
        chance = np.minimum(chance / chance.sum(axis=1, keepdims=True) * k, 1.0)
        is_here = _residents(class_plan, chance, is_resident)
        picks = _resident_picks(chance, is_here, k) if is_resident else chance
        asked = 1 - (1 - picks) ** n_tokens
        requests, misses = asked.sum(axis=1), (asked * ~is_here).sum(axis=1)
        found += [
            LayerForecast(layer, float(requests[row]), float(misses[row]))
            for row, layer in enumerate(spec.layers)
        ]
    return sorted(found, key=lambda each: each.layer)


def hit_rate(layers: Sequence[LayerForecast]) -> float:
    """Share of all requests that memory serves; 1 without experts."""
    requests = sum(each.requests for each in layers)
    return 1 - sum(each.misses for each in layers) / requests if requests else 1.0


def decode_range(
    read_bytes: float, touched_bytes: float, drive_per_second: float, memory_per_second: float
) -> RateRange:
    """Of one token `read_bytes` come from disk and `touched_bytes` pass the processor; rates in bytes."""
    read_seconds, touch_seconds = read_bytes / drive_per_second, touched_bytes / memory_per_second
    return RateRange(1 / (read_seconds + touch_seconds), 1 / max(read_seconds, touch_seconds))


def _residents(plan: ClassPlan, chance: Chances, is_resident: bool) -> NDArray[np.bool_]:
    """Which experts are in memory, (layers, experts)."""
    is_here = np.zeros(chance.shape, np.bool_)
    if is_resident:
        best = np.argsort(-chance, axis=1, kind="stable")[:, : plan.decode_pool]
        np.put_along_axis(is_here, best, True, axis=1)
        return is_here
    for row, experts in enumerate(warm_up_experts(chance, plan.slots)):
        is_here[row, experts] = True
    return is_here


def _resident_picks(chance: Chances, is_member: NDArray[np.bool_], top_k: int) -> Chances:
    """Under resident routing: experts outside the pool only as rank 0, one pick of k; members the rest."""
    outside = np.where(is_member, 0.0, chance / top_k)
    left = top_k - outside.sum(axis=1, keepdims=True)
    inside = np.where(is_member, chance, 0.0)
    picks: Chances = outside + np.minimum(
        inside * left / np.maximum(inside.sum(axis=1, keepdims=True), 1e-12), 1
    )
    return picks
