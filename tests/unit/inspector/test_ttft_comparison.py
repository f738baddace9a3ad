"""Which phase grew first, and what would help."""

from __future__ import annotations

import pytest

from app.inspector.ttft_comparison import answer_title, comparison_words, first_grown, phase_rows
from app.telemetry_store import AnswerTiming
from engine.events import FinishReason, TtftPhases, Usage

MS = 1_000_000


def answer(number: int, ttft: TtftPhases, model: str = "Small", cached: int = 0) -> AnswerTiming:
    usage = Usage(2100, cached, 5, MS, MS, 0, 0)
    return AnswerTiming(number, model, FinishReason.END_OF_TEXT, usage, ttft)


@pytest.mark.parametrize(
    ("before", "now", "grown"),
    [
        ({}, {}, None),
        ({"queue_ns": 0}, {"queue_ns": 50 * MS}, None),
        ({"queue_ns": 0}, {"queue_ns": 51 * MS}, "queue_ns"),
        # a fifth of 1,000 ms more isn't enough, a little over is
        ({"prefill_ns": 1000 * MS}, {"prefill_ns": 1200 * MS}, None),
        ({"prefill_ns": 1000 * MS}, {"prefill_ns": 1201 * MS}, "prefill_ns"),
        # the first in time, not the largest
        ({}, {"load_ns": 100 * MS, "prefill_ns": 9000 * MS}, "load_ns"),
        ({"load_ns": 900 * MS}, {"first_decode_ns": 90 * MS}, "first_decode_ns"),
    ],
)
def test_the_first_phase_that_grew(before: dict[str, int], now: dict[str, int], grown: str | None) -> None:
    assert first_grown(TtftPhases(**before), TtftPhases(**now)) == grown


def test_a_switch_is_named_with_what_would_help() -> None:
    before = answer(4, TtftPhases(prefill_ns=800 * MS))
    now = answer(5, TtftPhases(load_ns=4782 * MS, prefill_ns=900 * MS), "Large")
    words = comparison_words(before, now)
    assert words.startswith("After the switch from Small to Large, load grew first: 0 ms to 4,782 ms.")
    assert "keep the weights resident" in words


@pytest.mark.parametrize(("wait_ms", "advice"), [(501, "more slots"), (499, "a shorter prompt")])
def test_prefill_grew_by_the_disk_or_by_tokens(wait_ms: int, advice: str) -> None:
    before = answer(1, TtftPhases(prefill_ns=500 * MS))
    now = answer(2, TtftPhases(prefill_ns=1500 * MS, prefill_disk_wait_ns=wait_ms * MS))
    assert f"Would help: {advice}" in comparison_words(before, now)


def test_prefill_grew_by_copies_to_a_device() -> None:
    before = answer(1, TtftPhases(prefill_ns=500 * MS))
    now = answer(2, TtftPhases(prefill_ns=1500 * MS, prefill_transfer_wait_ns=501 * MS))
    assert "Would help: more device memory" in comparison_words(before, now)
    rows = {row[0]: row[1:] for row in phase_rows(now, before)}
    assert rows["of it waiting for the link"] == ("501 ms", "0 ms", "+501 ms")
    assert "of it waiting for the link" not in {row[0] for row in phase_rows(before, None)}


def test_a_first_paint_nobody_saw_is_unknown_and_phases_add_up() -> None:
    seen = answer(1, TtftPhases(prefill_ns=500 * MS, first_decode_ns=20 * MS, first_paint_ns=30 * MS))
    unseen = answer(2, TtftPhases(prefill_ns=500 * MS, first_decode_ns=20 * MS))
    rows = {row[0]: row[1:] for row in phase_rows(seen, unseen)}
    assert rows["first paint"] == ("30 ms", "n/a", "n/a")
    assert rows["time to first token"] == ("550 ms", "520 ms", "+30 ms")


def test_a_title_tells_new_from_cached_tokens() -> None:
    title = answer_title(answer(3, TtftPhases(), cached=2000))
    assert title == "#3 (Small): 100 new and 2,000 cached tokens"
