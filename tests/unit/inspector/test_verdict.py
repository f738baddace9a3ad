"""The sentence and the figures it rests on."""

from __future__ import annotations

import dataclasses

import pytest

from app.ceiling import Ceiling
from app.inspector.evidence import Evidence
from app.inspector.verdict import verdict
from app.window_totals import WindowTotals
from engine.events import EngineState, LoadPhase, LoadProgress, WarmUpProgress
from engine.model_facts import DeviceInfo
from tests.support.telemetry_events import model_info

SECOND = 1_000_000_000
MORE_SLOTS = "more slots would help."
WAITING = WindowTotals(
    span_ns=5 * SECOND, prefill_tokens=0, decode_tokens=10, prefill_ns=0, decode_ns=5 * SECOND,
    disk_wait_ns=3_550_000_000, disk_busy_ns=4 * SECOND, bytes_read=9_500_000_000, expert_requests=1000,
    expert_misses=300, expert_streamed=0, evictions=300, passes=10,
)  # fmt: skip


def generating(window: WindowTotals | None, **evidence: object) -> Evidence:
    return Evidence(state=EngineState.GENERATING, window=window, **evidence)  # type: ignore[arg-type] # its own fields


def test_waiting_names_share_span_and_rate() -> None:
    found = verdict(generating(WAITING))
    assert found.sentence == (
        "Waiting for disk 71 % of the last 5 s (1.9 GB/s read, drive busy 80 % of the time); "
        "more slots would help."
    )
    assert "3,550 ms of 5,000 ms" in found.rule
    known = verdict(generating(WAITING, drive=Ceiling(2.3e9, is_measured=True))).sentence
    assert known.startswith("Waiting for disk 71 % of the last 5 s (1.9 GB/s read of the drive’s 2.3 GB/s);")


@pytest.mark.parametrize(
    ("change", "evidence", "advice"),
    [
        ({}, {"drive": Ceiling(2.0e9, True)}, f"the drive gives all it can; {MORE_SLOTS}"),
        # the highest rate seen says nothing about what the drive could give
        ({}, {"drive": Ceiling(2.0e9, False)}, MORE_SLOTS),
        ({}, {"drive": Ceiling(4.0e9, True)}, MORE_SLOTS),
        # 10^9 planned with 10 slots of 1,004,096 bytes; 24 would hold every expert
        ({}, {"model": model_info()},
         "more slots would help: raise the RAM budget of 954 MiB in Budget "
         "(967 MiB would hold every expert)."),
        ({}, {"resident_share": 1.0}, "every expert is in memory now, so this should end."),
        ({"expert_misses": 0}, {}, "no expert was read, so more slots would not help."),
        ({"expert_misses": 0, "expert_streamed": 5}, {}, MORE_SLOTS),
    ],
)  # fmt: skip
def test_advice_follows_the_figures(change: dict[str, int], evidence: dict[str, object], advice: str) -> None:
    found = verdict(generating(dataclasses.replace(WAITING, **change), **evidence))
    assert found.sentence.split("); ")[1] == advice


@pytest.mark.parametrize(
    ("wait_ns", "beginning"),
    [
        (1_500_000_000, "Waiting for disk 30 %"),
        (1_499_000_000, "Computing, but waited for disk 30 %"),
        (500_000_000, "Computing, but waited for disk 10 %"),
        (499_000_000, "Computing: waited for disk 10 %"),
        (0, "Computing: waited for disk 0 % of the last 5 s"),
    ],
)
def test_limits_of_the_rule(wait_ns: int, beginning: str) -> None:
    found = verdict(generating(dataclasses.replace(WAITING, disk_wait_ns=wait_ns)))
    assert found.sentence.startswith(beginning)


COPYING = dataclasses.replace(
    WAITING, disk_wait_ns=500_000_000, transfer_wait_ns=2 * SECOND, link_bytes=50_000_000_000
)


def test_the_longer_wait_is_named() -> None:
    device = DeviceInfo("CUDA0", "a card", 12 << 30, 10 << 30, 9 << 30, (3,), 12e9)
    model = dataclasses.replace(model_info(), devices=(device,))
    found = verdict(generating(COPYING, link=Ceiling(12e9, True), model=model))
    assert found.sentence == (
        "Waiting for the link 40 % of the last 5 s (10 GB/s copied of the link’s 12 GB/s); "
        "a larger hot zone would help: raise the device’s budget of 10 GiB."
    )
    assert "disk 500 ms, link 2,000 ms of 5,000 ms" in found.rule


DECODING = dataclasses.replace(WAITING, disk_wait_ns=0, decode_tokens=50)  # 10 tokens a second


@pytest.mark.parametrize(
    ("memory", "ending"),
    [
        # 10 x (10^8 + 3 layers x 2 experts x 10^6) bytes
        (1.7e9, "decoding takes 1.06 GB/s of the 1.7 GB/s that memory gives, so memory is the limit: a model "
         "with fewer bytes per token would help, more slots would not."),
        (1.8e9, "decoding takes 1.06 GB/s of the 1.8 GB/s that memory gives, so the processor is the limit: "
         "more threads or cores would help."),
        (None, "more slots would change little."),
    ],
)  # fmt: skip
def test_decoding_is_bound_by_memory_or_by_the_processor(memory: float | None, ending: str) -> None:
    found = verdict(generating(DECODING, model=model_info(), memory_bytes_per_second=memory))
    assert found.sentence == f"Computing: waited for disk 0 % of the last 5 s; {ending}"
    assert ("not measured" in found.rule) == (memory is None)


def test_a_prompt_is_bound_by_the_processor() -> None:
    prefill = dataclasses.replace(DECODING, prefill_ns=4 * SECOND, decode_ns=SECOND)
    found = verdict(generating(prefill, model=model_info(), memory_bytes_per_second=1.7e9))
    assert found.sentence.startswith(
        "Computing the prompt: waited for disk 0 % of the last 5 s; the processor"
    )


def test_a_short_window_says_so() -> None:
    found = verdict(generating(dataclasses.replace(WAITING, span_ns=2_100_000_000, disk_wait_ns=0)))
    assert "of the last 2.1 s" in found.sentence


def test_unknown_figures_are_not_guessed() -> None:
    assert "n/a" in verdict(generating(None)).sentence
    assert verdict(Evidence(state=EngineState.LOADING)).sentence == "Loading; progress: n/a."


def test_loading_and_idle_and_empty() -> None:
    progress = LoadProgress(
        phase=LoadPhase.DENSE_READ, done_bytes=1 << 30, total_bytes=4 << 30, bytes_per_second=1.5e9
    )
    loading = verdict(Evidence(state=EngineState.LOADING, load_progress=progress))
    assert loading.sentence == "Loading: reading the dense weights, 1 GiB of 4 GiB at 1.5 GB/s."
    steps = dataclasses.replace(progress, phase=LoadPhase.SLOTS, total_bytes=0)
    assert verdict(Evidence(EngineState.LOADING, steps)).sentence == "Loading: making expert slots."
    # a window from the answer before says nothing about an idle engine
    assert verdict(Evidence(EngineState.READY, window=WAITING)).sentence.startswith("Idle:")
    assert verdict(Evidence(EngineState.EMPTY)).sentence == "No model is loaded."


def test_a_warm_up_says_how_far_it_is() -> None:
    progress = WarmUpProgress(done_experts=1200, total_experts=2400, bytes_read=3 << 30)
    found = verdict(Evidence(EngineState.WARMING_UP, window=WAITING, warm_up_progress=progress))
    assert found.sentence == (
        "Warming up: 1,200 of 2,400 missing experts are in memory, 3 GiB read at 1.9 GB/s."
    )
    assert verdict(Evidence(EngineState.WARMING_UP)).sentence == "Warming up; progress: n/a."
