"""Samples between passes: spaced in time, complete at the end."""

from __future__ import annotations

import numpy as np

from engine.events import Counters, CountersSampled, Event, ExpertsSampled, LayersSampled
from engine.telemetry.pass_sampler import PassSampler
from tests.support.virtual_time import VirtualTime


def experts() -> ExpertsSampled:
    grid = np.zeros((1, 2), np.int64)
    return ExpertsSampled(
        moe_layers=(0,),
        prefill_uses=grid,
        decode_uses=grid,
        tiers=grid.astype(np.uint8),
        last_use_pass=grid,
    )


def layers() -> LayersSampled:
    each = ((1,), (2,))
    return LayersSampled(
        moe_layers=(0,), disk_wait_ns=each, transfer_wait_ns=each, own_ns=each, compute_ns=each, misses=each
    )


def sampled(passes: int, gap_seconds: float, has_experts: bool = True) -> list[Event]:
    """Events of `passes` passes, one each `gap_seconds`, without the final samples."""
    time, events = VirtualTime(), list[Event]()
    details = (experts, layers) if has_experts else (lambda: None, lambda: None)
    sampler = PassSampler(Counters, *details, events.append, time.clock)
    for _ in range(passes):
        sampler.pass_done(3)
        time.sleep(gap_seconds)
    return events


def count(events: list[Event], kind: type[Event]) -> int:
    return sum(isinstance(event, kind) for event in events)


def test_a_second_of_fast_passes() -> None:
    events = sampled(passes=100, gap_seconds=0.01)
    assert count(events, CountersSampled) == 20
    assert (count(events, ExpertsSampled), count(events, LayersSampled)) == (5, 5)
    assert {event.request_id for event in events} == {3}


def test_slow_passes_are_all_sampled() -> None:
    events = sampled(passes=6, gap_seconds=0.3)
    assert (count(events, CountersSampled), count(events, ExpertsSampled)) == (6, 6)


def test_dense_models_have_no_expert_samples() -> None:
    events = sampled(passes=3, gap_seconds=1, has_experts=False)
    assert {type(event) for event in events} == {CountersSampled}


def test_finish_samples_at_once() -> None:
    time, events = VirtualTime(), list[Event]()
    sampler = PassSampler(lambda: Counters(passes=9), experts, layers, events.append, time.clock)
    sampler.pass_done(1)
    events.clear()
    sampler.finish(1)
    assert [type(event) for event in events] == [CountersSampled, ExpertsSampled, LayersSampled]
    assert isinstance(events[0], CountersSampled)
    assert events[0].counters.passes == 9
