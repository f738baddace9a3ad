"""Policies against hand-worked runs, and the laws that hold for all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import TraceFileError, UsageError
from engine.placement.cache_policies import Ours
from engine.placement.cache_simulator import POLICIES, simulate
from engine.placement.routing_trace import RoutingRecorder, RoutingTrace, TraceStep, load_trace


def trace_of(*passes: list[tuple[int, ...]], n_expert: int = 8, is_prefill: bool = False) -> RoutingTrace:
    """Each pass lists the experts of its layers."""
    steps = [
        TraceStep(number, row, is_prefill, 1, np.array(sorted(experts)), np.ones(len(experts), np.int64))
        for number, layers in enumerate(passes)
        for row, experts in enumerate(layers)
    ]
    return RoutingTrace(tuple(range(len(passes[0]))), n_expert, len(passes[0][0]), tuple(steps))


def one_layer(*experts: int) -> RoutingTrace:
    return trace_of(*[[(expert,)] for expert in experts])


@pytest.mark.parametrize(
    ("policy", "misses"),
    [
        # slots 2; requests 0 1 2 0 1 2: LRU always evicts what comes next, the optimum keeps 0
        # (0 1 fill; 2 replaces 1; 0 hits; 1 replaces 0; 2 hits)
        ("lru", 6),
        ("belady", 4),
    ],
)
def test_a_cycle_longer_than_the_cache(policy: str, misses: int) -> None:
    assert simulate(one_layer(0, 1, 2, 0, 1, 2), policy, 2).misses == misses


def test_lfu_keeps_what_is_used_often() -> None:
    # 0 0 0 1 2 0: at 2 the victim is 1 (one use), so the last 0 hits; LRU keeps it too, but not in 0 0 1 2 0
    assert simulate(one_layer(0, 0, 0, 1, 2, 0), "lfu", 2).misses == 3
    assert simulate(one_layer(0, 0, 1, 2, 0), "lfu", 2).misses == 3
    assert simulate(one_layer(0, 0, 1, 2, 0), "lru", 2).misses == 4


def test_the_fixed_pool_holds_the_most_used() -> None:
    # slots 2: one fixed (expert 0, used most), one in the window: misses are 0 once, 1, 2, 1, 2
    assert simulate(one_layer(0, 1, 0, 2, 0, 1, 0, 2), "fixed", 2).misses == 5


def test_experts_of_a_step_never_push_each_other_out() -> None:
    trace = trace_of([(0, 1)], [(1, 2)], [(0, 2)])
    for policy in POLICIES:
        # 0 1 miss; 1 stays, 2 replaces 0; 2 stays, 0 replaces 1
        assert simulate(trace, policy, 2).misses == 4


def test_hot_experts_never_take_slots_that_a_step_needs() -> None:
    trace = trace_of(*[[(0, 1, 2)], [(3, 4, 5)], [(0, 1, 6)]] * 9)
    run = Ours(trace, slots=4, hot=9)  # one of four can be hot, since three are needed at once
    misses = [run.step(step) for step in trace.steps]
    assert misses[0] == 3
    # whoever is hot is in one of the steps, and there it hits: without it, 4 slots for 7 experts can't
    assert all(sum(misses[i : i + 3]) <= 8 for i in range(9, 27, 3))


def test_layers_have_experts_of_their_own() -> None:
    trace = trace_of([(0,), (0,)], [(0,), (0,)])
    for policy in POLICIES:
        figures = simulate(trace, policy, 2)
        assert (figures.requests, figures.misses, figures.cold_misses) == (4, 2, 2)
        assert figures.hit_rate == figures.decode_hit_rate == 0.5


def test_prefill_and_decode_are_counted_apart() -> None:
    prompt = trace_of([(0, 1, 2)], is_prefill=True).steps
    answer = trace_of([(0,)], [(0,)]).steps
    steps = (*prompt, *(TraceStep(s.pass_number + 1, *_rest(s)) for s in answer))
    figures = simulate(RoutingTrace((0,), 8, 1, steps), "lru", 3)
    assert (figures.prefill_requests, figures.prefill_misses) == (3, 3)
    assert (figures.prefill_hit_rate, figures.decode_hit_rate, figures.hit_rate) == (0.0, 1.0, 0.4)


def _rest(step: TraceStep) -> tuple[int, bool, int, np.ndarray, np.ndarray]:
    return step.row, step.is_prefill, step.n_tokens, step.experts, step.picks


def test_too_few_slots_are_refused_with_the_number_needed() -> None:
    with pytest.raises(UsageError, match="needs 2 experts"):
        simulate(trace_of([(0, 1)]), "lru", 1)


_RUNS = st.lists(
    st.lists(st.sets(st.integers(0, 7), min_size=2, max_size=2), min_size=3, max_size=3),
    min_size=1,
    max_size=25,
)


@settings(max_examples=60)
@given(_RUNS, st.integers(2, 24), st.booleans())
def test_no_policy_beats_the_optimum_or_misses_less_than_first_uses(
    runs: list[list[set[int]]], slots: int, is_prefill: bool
) -> None:
    trace = trace_of(*[[tuple(layer) for layer in layers] for layers in runs], is_prefill=is_prefill)
    figures = {policy: simulate(trace, policy, slots) for policy in POLICIES}
    best = figures["belady"].misses
    for each in figures.values():
        assert best <= each.misses <= each.requests
        assert each.misses >= each.cold_misses
    if slots == 24:  # a slot for everything
        assert {each.misses for each in figures.values()} == {figures["lru"].cold_misses}


@settings(max_examples=40)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=9), st.integers(1, 3))
def test_the_optimum_is_optimal(requests: list[int], slots: int) -> None:
    """Against trying every victim: small runs only."""

    def least(place: int, held: frozenset[int]) -> int:
        if place == len(requests):
            return 0
        item = requests[place]
        if item in held:
            return least(place + 1, held)
        kept = [held] if len(held) < slots else [held - {victim} for victim in held]
        return 1 + min(least(place + 1, each | {item}) for each in kept)

    assert simulate(one_layer(*requests), "belady", slots).misses == least(0, frozenset())


def test_a_recording_comes_back_from_its_file(tmp_path: Path) -> None:
    recorder = RoutingRecorder((3, 5), 8, 2)
    recorder.add(0, 0, True, np.array([[1, 7], [7, 2]], np.int32))
    recorder.add(0, 1, True, np.array([[0, 1], [1, 0]], np.int32))
    recorder.add(1, 0, False, np.array([[4, 2]], np.int32))
    recorder.trace().save(tmp_path / "run.trace")
    trace = load_trace(tmp_path / "run.trace")
    assert (trace.moe_layers, trace.n_expert, trace.top_k, trace.requests) == ((3, 5), 8, 2, 7)
    first, _, last = trace.steps
    assert (first.experts.tolist(), first.picks.tolist(), first.n_tokens) == ([1, 2, 7], [1, 1, 2], 2)
    assert (last.pass_number, last.row, last.is_prefill, last.experts.tolist()) == (1, 0, False, [2, 4])


def test_a_recording_of_nothing_comes_back(tmp_path: Path) -> None:
    RoutingRecorder((0,), 8, 2).trace().save(tmp_path / "run.trace")
    assert load_trace(tmp_path / "run.trace").steps == ()


@pytest.mark.parametrize("content", [b"", b"GGUF", b"PK\x03\x04 cut off"])
def test_a_file_that_is_no_trace_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(TraceFileError, match="is no routing trace"):
        load_trace(tmp_path / "x")


def test_an_absent_or_unwritable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceFileError, match="no file"):
        load_trace(tmp_path / "x")
    with pytest.raises(TraceFileError, match="can't be written"):
        RoutingRecorder((0,), 8, 2).trace().save(tmp_path / "absent" / "x")


def test_tables_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    trace = trace_of([(0, 1)])
    RoutingTrace((), trace.n_expert, 2, trace.steps).save(tmp_path / "x")
    with pytest.raises(TraceFileError, match="contradict"):
        load_trace(tmp_path / "x")
