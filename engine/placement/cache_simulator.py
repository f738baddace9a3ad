"""Hit rates of cache policies on a recorded run, beside the best that any policy could reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from engine.errors import UsageError
from engine.placement.cache_policies import Belady, CachePolicy, FixedPool, Lfu, Lru, Ours
from engine.placement.routing_trace import RoutingTrace

POLICIES: Mapping[str, Callable[[RoutingTrace, int], CachePolicy]] = {
    "lru": Lru,
    "lfu": Lfu,
    "fixed": FixedPool,
    "ours": Ours,
    "belady": Belady,
}


@dataclass(frozen=True, slots=True)
class HitFigures:
    """Requests are distinct experts per layer and pass; `cold_misses`: first uses, which none can avoid."""

    policy: str
    slots: int
    requests: int
    misses: int
    prefill_requests: int
    prefill_misses: int
    cold_misses: int

    @property
    def hit_rate(self) -> float:
        return _share(self.requests - self.misses, self.requests)

    @property
    def prefill_hit_rate(self) -> float:
        return _share(self.prefill_requests - self.prefill_misses, self.prefill_requests)

    @property
    def decode_hit_rate(self) -> float:
        requests = self.requests - self.prefill_requests
        return _share(requests - self.misses + self.prefill_misses, requests)


def simulate(trace: RoutingTrace, policy: str, slots: int) -> HitFigures:
    """Replay `trace` with `slots` shared by all layers; raises UsageError where one step needs more."""
    need = least_slots(trace)
    if slots < need:
        raise UsageError(
            f"{slots} slots are too few: one layer of this run needs {need} experts at once.",
            f"Simulate {need} slots or more.",
        )
    run = POLICIES[policy](trace, slots)
    misses = {True: 0, False: 0}
    for step in trace.steps:
        misses[step.is_prefill] += run.step(step)
    return HitFigures(
        policy=policy,
        slots=slots,
        requests=trace.requests,
        misses=sum(misses.values()),
        prefill_requests=sum(len(step.experts) for step in trace.steps if step.is_prefill),
        prefill_misses=misses[True],
        cold_misses=len({(step.row, expert) for step in trace.steps for expert in step.experts.tolist()}),
    )


def least_slots(trace: RoutingTrace) -> int:
    """Experts that the widest step needs at once."""
    return max((len(step.experts) for step in trace.steps), default=1)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
