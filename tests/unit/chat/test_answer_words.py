"""Words about answers, against figures worked out by hand."""

from __future__ import annotations

import json

import pytest

from app.chat.answer_words import (
    answering_words,
    duration_words,
    ending_words,
    failed_stats,
    finished_stats,
    prefill_words,
    rate_words,
    stats_words,
)
from engine.errors import ErrorInfo
from engine.events import FinishReason, GenerationFinished, PrefillProgress, TtftPhases, Usage

FINISHED = GenerationFinished(
    text="t",
    reason=FinishReason.MAX_TOKENS,
    usage=Usage(
        prompt_tokens=512,
        cached_tokens=128,
        completion_tokens=96,
        prefill_ns=16_000_000_000,
        decode_ns=12_000_000_000,
        bytes_read=3 << 29,
        disk_wait_ns=0,
    ),
    ttft=TtftPhases(queue_ns=200_000_000, prefill_ns=16_000_000_000),
)


def test_prefill_counts_only_new_tokens_for_speed_and_time_left() -> None:
    # 88 new tokens in 3.52 s are 25 tok/s; 384 tokens left take 15.36 s
    progress = PrefillProgress(done_tokens=128, total_tokens=512, cached_tokens=40, elapsed_ns=3_520_000_000)
    assert prefill_words(progress) == (
        "Reading the prompt: 128 of 512 tokens · 40 from cache · 25 tok/s · about 15 s left"
    )


def test_prefill_claims_no_speed_before_anything_is_done() -> None:
    progress = PrefillProgress(done_tokens=40, total_tokens=512, cached_tokens=40, elapsed_ns=0)
    assert prefill_words(progress) == "Reading the prompt: 40 of 512 tokens · 40 from cache"


def test_the_first_paint_is_part_of_the_stored_total() -> None:
    ttft = finished_stats(FINISHED, first_paint_ns=300_000_000)["ttft"]
    assert isinstance(ttft, dict)
    assert (ttft["first_paint_ns"], ttft["total_ns"]) == (300_000_000, 16_500_000_000)


def test_stored_figures_survive_json_and_read_as_one_line() -> None:
    stored = json.loads(json.dumps(finished_stats(FINISHED)))
    # 384 new tokens in 16 s, 96 tokens in 12 s
    assert stats_words(stored) == (
        "prompt 512 tokens (384 new, 128 from cache) · answer 96 tokens · first token after 16 s · "
        "prefill 24 tok/s · decode 8.0 tok/s · 1.5 GiB from disk"
    )
    assert ending_words("complete", stored) == "Ended at the token limit."
    shortened = stats_words({**stored, "left_out_messages": 1200})
    assert "from cache) · the oldest 1,200 messages left out · answer" in shortened


def test_an_answer_that_never_began_claims_no_figures() -> None:
    assert stats_words(None) == ""
    assert stats_words({"prompt_tokens": 0}) == ""
    assert stats_words({"prompt_tokens": "damaged"}) == ""


def test_a_failure_says_fault_and_next_step() -> None:
    stats = failed_stats(ErrorInfo("DiskReadError", "The disk failed.", "Try again.", "errno 5"))
    assert ending_words("failed", stats) == "Failed: The disk failed. Try again."


def test_endings() -> None:
    assert ending_words("stopped", None) == "Stopped."
    assert ending_words("interrupted", None).startswith("Interrupted")
    assert ending_words("streaming", None) == ""
    assert ending_words("complete", {"reason": "end_of_text"}) == ""


def test_answering_rate_leaves_out_the_first_token() -> None:
    # 20 tokens follow the first within 2 s
    assert answering_words(21, 2_000_000_000) == "Answering: 21 tokens · 10 tok/s"
    assert answering_words(1, 0) == "Answering: 1 tokens"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.35, "0.35 s"), (12.4, "12 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")]
)
def test_durations(seconds: float, words: str) -> None:
    assert duration_words(seconds) == words


@pytest.mark.parametrize(
    ("rate", "words"), [(0.451, "0.45 tok/s"), (8.12, "8.1 tok/s"), (25.4, "25 tok/s"), (1200, "1,200 tok/s")]
)
def test_rates(rate: float, words: str) -> None:
    assert rate_words(rate) == words
