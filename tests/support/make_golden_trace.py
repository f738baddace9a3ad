"""Writes the golden recording: a small run with round figures, from which every figure follows by hand.

    python -m tests.support.make_golden_trace tests/golden/small_run.embertrace

Two models, three answers; samples every half second. The second model is loaded at 10 s.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from engine.events import (
    Counters,
    CountersSampled,
    EngineState,
    Event,
    FinishReason,
    GenerationFinished,
    GenerationStarted,
    ModelUnloaded,
    TextDelta,
    TtftPhases,
    Usage,
)
from engine.model_facts import ModelInfo
from engine.telemetry.trace_file import TraceWriter
from tests.support.telemetry_events import SECOND_NS, experts_event, load_events, model_info, state_event

HALF_NS = SECOND_NS // 2
EXPERTS = 8


def golden_events() -> Iterator[Event]:
    """Events of the run, in order."""
    small = model_info()
    large = dataclasses.replace(model_info(), name="Large", drive_bytes_per_second=2.0e9)
    first = TtftPhases(template_ns=2_000_000, prefill_ns=4 * HALF_NS, first_decode_ns=98_000_000)
    second = dataclasses.replace(first, prefill_ns=3 * HALF_NS, prefill_disk_wait_ns=HALF_NS)
    third = dataclasses.replace(first, load_ns=1_500_000_000, initialise_ns=400_000_000)
    yield from numbered(_run(small, 0.0, (first, second)))
    yield ModelUnloaded(t_ns=10 * SECOND_NS)
    yield from numbered(_run(large, 10.0, (third,)))


def numbered(events: Iterator[Event]) -> Iterator[Event]:
    """With a `seq`, as the engine gives them."""
    for seq, event in enumerate(events, 1):
        yield dataclasses.replace(event, seq=seq)


def _run(info: ModelInfo, start: float, answers: tuple[TtftPhases, ...]) -> Iterator[Event]:
    """A load and answers of 4 s each: in every half second 8 tokens of prefill or 4 of decode."""
    yield from load_events(info, start)
    counters = Counters()
    yield CountersSampled(t_ns=int(start * SECOND_NS), counters=counters)
    for number, ttft in enumerate(answers):
        begin = start + 0.5 + number * 4.5
        yield state_event(begin, EngineState.GENERATING)
        at_ns = int(begin * SECOND_NS)
        yield GenerationStarted(t_ns=at_ns, prompt_tokens=40, cached_tokens=8, context_tokens=4096)
        for step in range(1, 9):
            counters = _half_second(counters, is_prefill=step <= 4)
            now = begin + step / 2
            if step > 4:
                yield TextDelta(t_ns=int(now * SECOND_NS), text="said", completion_tokens=4 * (step - 4))
            yield CountersSampled(t_ns=int(now * SECOND_NS), counters=counters)
            yield _experts(now, counters)
        usage = Usage(40, 8, 16, 4 * HALF_NS, 4 * HALF_NS, 800_000_000, 10 * HALF_NS // 5)
        yield GenerationFinished(
            t_ns=int((begin + 4) * SECOND_NS),
            text="said",
            reason=FinishReason.END_OF_TEXT,
            usage=usage,
            ttft=ttft,
        )
        yield state_event(begin + 4, EngineState.READY)


def _half_second(c: Counters, is_prefill: bool) -> Counters:
    """100 MB read and 30 requests, 6 of them misses; the disk was waited for 300 of 500 ms in prefill."""
    return dataclasses.replace(
        c,
        prefill_tokens=c.prefill_tokens + (8 if is_prefill else 0),
        decode_tokens=c.decode_tokens + (0 if is_prefill else 4),
        prefill_ns=c.prefill_ns + (HALF_NS if is_prefill else 0),
        decode_ns=c.decode_ns + (0 if is_prefill else HALF_NS),
        disk_wait_prefill_ns=c.disk_wait_prefill_ns + (300_000_000 if is_prefill else 0),
        disk_wait_decode_ns=c.disk_wait_decode_ns + (0 if is_prefill else 100_000_000),
        bytes_read=c.bytes_read + 100_000_000,
        bytes_by_reason={"miss": c.bytes_read + 100_000_000},
        expert_requests=c.expert_requests + 30,
        expert_misses=c.expert_misses + 6,
        evictions=c.evictions + 5,
        passes=c.passes + (1 if is_prefill else 4),
        ranks_routed=c.ranks_routed + 24,
        ranks_replaced=c.ranks_replaced + 3,
        gate_mass_wanted=c.gate_mass_wanted + 10.0,
        gate_mass_used=c.gate_mass_used + 9.5,
    )


def _experts(now: float, c: Counters) -> Event:
    """Expert 0 of each of the 3 layers takes every prefill pick, experts 0 to 3 share those of decode."""
    prefill, decode = np.zeros((3, EXPERTS), np.int64), np.zeros((3, EXPERTS), np.int64)
    prefill[:, 0] = c.prefill_tokens * 2
    decode[:, :4] = c.decode_tokens // 2
    tiers = np.zeros((3, EXPERTS), np.uint8)
    tiers[:, :2], tiers[:, 2] = 2, 1
    last = np.where(prefill + decode > 0, c.passes, 0)
    return experts_event(now, prefill.tolist(), decode.tolist(), tiers.tolist(), last.tolist())


if __name__ == "__main__":
    writer = TraceWriter(Path(sys.argv[1]))
    writer.write(golden_events())
    writer.close()
