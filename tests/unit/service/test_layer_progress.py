"""Progress inside a unit of the prompt, which may take a minute."""

from __future__ import annotations

from engine.answer_sink import AnswerSink
from engine.events import Counters, CountersSampled, Event, PrefillProgress
from engine.telemetry.pass_sampler import PassSampler


class Clock:
    """Nanoseconds set by hand."""

    def __init__(self) -> None:
        self.now = 1_000

    def __call__(self) -> int:
        return self.now


def test_layers_are_reported_at_most_every_100_ms_and_only_while_the_prompt_is_read() -> None:
    clock, events = Clock(), list[Event]()
    sampler = PassSampler(Counters, lambda: None, lambda: None, events.append, clock)
    sink = AnswerSink(7, 4096, events.append, sampler, lambda: None, clock)
    sink.layer_done(1, 48)
    assert events == []  # nothing is being read

    sink.started(512, 100)
    for layer in range(1, 49):
        clock.now += 30_000_000
        sink.layer_done(layer, 48)
    inside = [e for e in events if isinstance(e, PrefillProgress) and e.layers_done]
    # every 30 ms asked, at most every 100 ms told: layers 1, 5, 9, ... 45
    assert [e.layers_done for e in inside] == list(range(1, 49, 4))
    assert {(e.done_tokens, e.total_tokens, e.cached_tokens, e.layers_total) for e in inside} == {
        (100, 512, 100, 48)
    }
    assert inside[-1].elapsed_ns == 45 * 30_000_000
    assert any(isinstance(e, CountersSampled) for e in events)  # the disk wait moves, too

    sink.prefill(512, 512, 100, 48 * 30_000_000)
    events.clear()
    clock.now += 10**9
    sink.layer_done(1, 48)  # decoding
    assert events == []
