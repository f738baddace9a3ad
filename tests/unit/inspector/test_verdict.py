"""The sentence and the figures it rests on."""

from __future__ import annotations

import dataclasses

import pytest

from app.inspector.verdict import Evidence, verdict
from app.window_totals import WindowTotals
from engine.events import EngineState, LoadPhase, LoadProgress, WarmUpProgress

SECOND = 1_000_000_000
MORE_SLOTS = "more slots would help."
WAITING = WindowTotals(
    span_ns=5 * SECOND, prefill_tokens=0, decode_tokens=10, prefill_ns=0, decode_ns=5 * SECOND,
    disk_wait_ns=3_550_000_000, disk_busy_ns=4 * SECOND, bytes_read=9_500_000_000, expert_requests=1000,
    expert_misses=300, expert_streamed=0, evictions=300, passes=10,
)  # fmt: skip


def generating(window: WindowTotals | None, **evidence: float) -> Evidence:
    return Evidence(state=EngineState.GENERATING, window=window, **evidence)


def test_waiting_names_share_span_and_rate() -> None:
    found = verdict(generating(WAITING))
    assert found.sentence == ("Waiting for disk 71 % of the last 5 s (1.9 GB/s read); more slots would help.")
    assert "3,550 ms of 5,000 ms" in found.rule
    known = verdict(generating(WAITING, drive_bytes_per_second=2.3e9)).sentence
    assert known.startswith("Waiting for disk 71 % of the last 5 s (1.9 GB/s read of the drive’s 2.3 GB/s);")


@pytest.mark.parametrize(
    ("change", "evidence", "advice"),
    [
        ({}, {"drive_bytes_per_second": 2.0e9}, f"the drive gives all it can; {MORE_SLOTS}"),
        ({}, {"drive_bytes_per_second": 4.0e9}, MORE_SLOTS),
        ({}, {"resident_share": 1.0}, "every expert is in memory now, so this should end."),
        ({"expert_misses": 0}, {}, "no expert was read, so more slots would not help."),
        ({"expert_misses": 0, "expert_streamed": 5}, {}, MORE_SLOTS),
    ],
)  # fmt: skip
def test_advice_follows_the_figures(change: dict[str, int], evidence: dict[str, float], advice: str) -> None:
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
