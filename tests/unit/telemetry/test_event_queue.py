"""The two lanes of the event queue under fast, slow and absent consumers."""

from __future__ import annotations

import itertools
import threading

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.events import (
    Counters,
    CountersSampled,
    EngineState,
    Event,
    ExpertsSampled,
    StateChanged,
    TextDelta,
)
from engine.telemetry.event_queue import EventQueue

STATE = StateChanged(state=EngineState.READY)
COUNTERS = CountersSampled(counters=Counters())


def new_queue(metrics_capacity: int = 8) -> EventQueue:
    return EventQueue(itertools.count(1000, 10).__next__, metrics_capacity)


def delta(text: str, completion_tokens: int = 1, request_id: int = 1) -> TextDelta:
    return TextDelta(request_id=request_id, text=text, completion_tokens=completion_tokens)


def test_stamps_sequence_and_clock() -> None:
    queue = new_queue()
    queue.put(STATE)
    queue.put(COUNTERS)
    first, second = queue.drain(10)
    assert (first.seq, first.t_ns, second.seq, second.t_ns) == (1, 1000, 2, 1010)


def test_drain_takes_the_oldest_of_both_lanes_first() -> None:
    queue = new_queue()
    for event in (COUNTERS, STATE, COUNTERS, STATE):
        queue.put(event)
    assert [event.seq for event in queue.drain(3)] == [1, 2, 3]
    assert [event.seq for event in queue.drain(3)] == [4]
    assert queue.drain(3) == []


def test_metrics_keep_the_newest_and_count_the_dropped() -> None:
    queue = new_queue(metrics_capacity=3)
    for passes in range(10):
        queue.put(CountersSampled(counters=Counters(passes=passes)))
    kept = [event.counters.passes for event in queue.drain(100) if isinstance(event, CountersSampled)]
    assert kept == [7, 8, 9]
    assert queue.dropped_metrics == 7


def test_only_the_newest_four_expert_samples_are_kept() -> None:
    queue = new_queue(metrics_capacity=100)
    grid = np.zeros((1, 1), np.int64)
    for number in range(10):
        queue.put(
            ExpertsSampled(
                request_id=number,
                moe_layers=(0,),
                prefill_uses=grid,
                decode_uses=grid,
                tiers=grid.astype(np.uint8),
                last_use_pass=grid,
            )
        )
        queue.put(COUNTERS)
    drained = queue.drain(100)
    assert [event.request_id for event in drained if isinstance(event, ExpertsSampled)] == [6, 7, 8, 9]
    assert sum(isinstance(event, CountersSampled) for event in drained) == 10
    assert queue.dropped_metrics == 6


def test_text_stays_in_single_events_for_a_fast_consumer() -> None:
    queue = new_queue()
    for text in "abc":
        queue.put(delta(text))
    assert [event.text for event in queue.drain(10) if isinstance(event, TextDelta)] == ["a", "b", "c"]


def test_a_slow_consumer_gets_all_text_in_few_events() -> None:
    queue = new_queue()
    for number in range(20_000):
        queue.put(delta("word ", completion_tokens=number + 1))
    # 64 single events, then 100,000 characters in pieces of up to 4,096
    assert len(queue) <= 64 + 25
    events = [event for event in queue.drain(10_000) if isinstance(event, TextDelta)]
    assert "".join(event.text for event in events) == "word " * 20_000
    assert events[-1].completion_tokens == 20_000


def test_text_of_two_answers_is_never_merged() -> None:
    queue = new_queue()
    for _ in range(100):
        queue.put(delta("a", request_id=1))
    queue.put(delta("b", request_id=2))
    last = queue.drain(1000)[-1]
    assert isinstance(last, TextDelta)
    assert (last.text, last.request_id) == ("b", 2)


def test_wait_wakes_for_an_event_and_gives_up_without() -> None:
    queue = new_queue()
    assert queue.wait(0.001) is False
    producer = threading.Thread(target=queue.put, args=(STATE,))
    producer.start()
    assert queue.wait(20) is True
    producer.join()


ACTIONS = st.lists(
    st.one_of(
        st.sampled_from(["state", "counters"]),
        st.tuples(st.integers(1, 2), st.text(max_size=5)),
        st.integers(1, 40),
    ),
    max_size=300,
)


@given(ACTIONS)
def test_any_interleaving_keeps_order_lifecycle_and_text(actions: list[str | tuple[int, str] | int]) -> None:
    queue = new_queue(metrics_capacity=4)
    put_states = put_metrics = 0
    texts = {1: "", 2: ""}
    drained: list[Event] = []
    for action in actions:
        if isinstance(action, int):
            drained += queue.drain(action)
        elif action == "state":
            queue.put(STATE)
            put_states += 1
        elif action == "counters":
            queue.put(COUNTERS)
            put_metrics += 1
        else:
            request_id, text = action
            queue.put(delta(text, request_id=int(request_id)))
            texts[int(request_id)] += text
    drained += queue.drain(1000)
    sequence = [event.seq for event in drained]
    assert sequence == sorted(set(sequence))
    assert sum(isinstance(event, StateChanged) for event in drained) == put_states
    kept_metrics = sum(isinstance(event, CountersSampled) for event in drained)
    assert kept_metrics + queue.dropped_metrics == put_metrics
    for request_id, text in texts.items():
        parts = [e.text for e in drained if isinstance(e, TextDelta) and e.request_id == request_id]
        assert "".join(parts) == text
