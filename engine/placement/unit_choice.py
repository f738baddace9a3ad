"""How many tokens pass a layer together in prefill: a larger unit reads less, and leaves fewer slots.

Pure arithmetic; use is taken as uniform, since what is learned about a model must not change its unit:
another unit sums in another order.
"""

from __future__ import annotations

from engine.config import format_size
from engine.errors import BudgetError
from engine.placement.forecast import forecast_layers
from engine.placement.placement_plan import (
    AUTO_UNITS,
    PlacementPlan,
    PlacementRequest,
    least_bytes,
    plan_for_unit,
)

# What passing a byte of weights through the processor costs, in bytes read from a drive: two cores pass
# 13 GB/s (RepackRates), NVMe drives give 2 GB/s
_PASSING = 0.15
_WORTH_A_CHANGE = 1.25  # a unit that is in use gives way to one that costs so many times less


def plan_placement(
    request: PlacementRequest, current_unit: int | None = None, is_settled: bool = False
) -> PlacementPlan:
    """The asked unit, smaller only where it must be, or the one whose plan costs least.

    `current_unit` stays if it fits and none is clearly better, or if `is_settled` wherever it fits. Raises
    BudgetError if not even one token's experts fit.
    """
    plan = _asked(request, request.unit_tokens) if request.unit_tokens else _cheapest(request)
    if plan is None:
        missing = least_bytes(request) + request.unit_bytes(1) - request.slots_budget_bytes
        raise BudgetError(
            f"The memory budget is {format_size(missing)} too small for the experts of a single token.",
            "Raise the memory budget, or choose a smaller context.",
            settings=("ram_budget_bytes", "context_tokens"),
        )
    current = plan_for_unit(request, current_unit) if current_unit else None
    if current is not None:
        most = _WORTH_A_CHANGE * expected_cost(request, plan)
        return current if is_settled or expected_cost(request, current) <= most else plan
    return plan


def _asked(request: PlacementRequest, unit_tokens: int) -> PlacementPlan | None:
    """The largest that fits."""
    plans = (plan_for_unit(request, unit) for unit in range(unit_tokens, 0, -1))
    return next((plan for plan in plans if plan is not None), None)


def _cheapest(request: PlacementRequest) -> PlacementPlan | None:
    """Among equals the largest unit."""
    units = [unit for unit in AUTO_UNITS if unit <= request.largest_unit_tokens]
    plans = [plan for unit in units if (plan := plan_for_unit(request, unit)) is not None]
    return min(plans, key=lambda plan: expected_cost(request, plan), default=None)


def expected_cost(request: PlacementRequest, plan: PlacementPlan) -> float:
    """Bytes to read for a token of a prompt and one of an answer, as the forecast has them.

    Weights that pass the processor count a share of theirs: a unit passes each distinct expert once. With
    resident routing, an expert that must be replaced counts as if it were read: a smaller pool saves nothing.
    """
    tokens = plan.unit_tokens
    answer, prompt = (
        {each.layer: each for each in forecast_layers(plan, request.top_k, request.is_resident, known, n)}
        for known in [[None] * len(plan.classes)]
        for n in (1, tokens)
    )
    cost = 0.0
    for spec in request.classes:
        top_k = min(request.top_k, spec.n_expert)
        # of a token's picks outside the pool, one in top-k is rank 0 and read
        repeats = 2 * top_k - 1 if request.is_resident else 1
        passed = spec.n_expert * (1 - (1 - top_k / spec.n_expert) ** tokens)
        for layer in spec.layers:
            reads = prompt[layer].misses / tokens + repeats * answer[layer].misses
            cost += spec.slot_bytes * (reads + _PASSING * passed / tokens)
    return cost
