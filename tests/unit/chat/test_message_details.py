"""What the details dialog says, against figures worked out by hand."""

from __future__ import annotations

from app.chat.answer_words import duration_words, finished_stats
from app.chat.message_details import details_rows, details_text
from app.history.records import Attachment, Message
from engine.events import FinishReason, GenerationFinished, TtftPhases, Usage

FINISHED = GenerationFinished(
    text="t",
    reason=FinishReason.END_OF_TEXT,
    usage=Usage(
        prompt_tokens=1512,
        cached_tokens=1128,
        completion_tokens=96,
        prefill_ns=16_000_000_000,
        decode_ns=12_000_000_000,
        bytes_read=3 << 29,
        disk_wait_ns=2_500_000_000,
    ),
    ttft=TtftPhases(
        queue_ns=200_000_000,
        template_ns=310_000,
        prefill_ns=16_000_000_000,
        first_decode_ns=125_000_000,
        prefill_disk_wait_ns=2_000_000_000,
    ),
)
SETTINGS = {
    "system_prompt": "Be kind.", "temperature": 0.7, "top_k": 40, "top_p": 0.95, "min_p": 0.05,
    "repeat_penalty": 1.0, "max_tokens": None, "seed": None,
}  # fmt: skip


def answer(**stats: object) -> Message:
    return Message(2, 1, "assistant", "text", "complete", 0.0, stats, "Ember 8x7")


def section(message: Message, title: str) -> dict[str, str]:
    return dict(next((rows for name, rows in details_rows(message) if name == title), []))


def test_tokens_in_and_out() -> None:
    message = answer(**finished_stats(FINISHED), left_out_messages=4, left_out_tokens=2048)
    assert section(message, "Tokens") == {
        "Prompt": "1,512",
        "From cache": "1,128",
        "Newly read": "384",
        "Answer": "96",
        "Left out": "the oldest 4 messages (2,048 tokens)",
    }


def test_phases_of_the_first_token_without_those_that_took_no_time() -> None:
    rows = section(answer(**finished_stats(FINISHED)), "Time to first token")
    assert rows == {
        "Total": "16 s",
        "Waiting for its turn": "0.2 s",
        "Template and tokens": "0.31 ms",
        "Reading the prompt": "16 s",
        "First token": "0.12 s",
        "Of it, waiting for the disk": "2 s",
    }


def test_speed_and_disk() -> None:
    # 384 new tokens in 16 s, 96 tokens in 12 s
    assert section(answer(**finished_stats(FINISHED)), "Speed and disk") == {
        "Reading the prompt": "24 tok/s",
        "Answering": "8.0 tok/s",
        "Read from disk": "1.5 GiB",
        "Waited for the disk": "2.5 s",
    }


def test_settings_and_model() -> None:
    message = answer(settings=SETTINGS)
    assert section(message, "Message")["Model"] == "Ember 8x7"
    assert section(answer(thinking_seconds=75.2), "Message")["Thought for"] == "1 min 15 s"
    rows = section(message, "Settings used")
    assert (rows["Temperature"], rows["Seed"], rows["Longest answer"]) == ("0.7", "by chance", "no limit")
    assert rows["System prompt"] == "Be kind."


def test_a_user_s_message_has_no_figures() -> None:
    message = Message(1, 1, "user", "Hello", "complete", 0.0, None, attachments=(Attachment("a.txt", "x"),))
    assert [title for title, _ in details_rows(message)] == ["Message"]
    assert section(message, "Message")["Attached"] == "a.txt"
    assert section(message, "Message")["Length"] == "5 characters"


def test_waits_for_the_link_and_the_first_paint() -> None:
    stats = finished_stats(FINISHED, first_paint_ns=40_000_000)
    assert isinstance(stats["ttft"], dict)
    stats["ttft"]["prefill_transfer_wait_ns"] = 1_500_000_000
    rows = dict(dict(details_rows(answer(**stats)))["Time to first token"])
    assert (rows["Showing it"], rows["Of it, waiting for the link"]) == ("0.04 s", "1.5 s")
    old = {key: value for key, value in stats["ttft"].items() if "paint" not in key and "transfer" not in key}
    rows = dict(dict(details_rows(answer(**{**stats, "ttft": old})))["Time to first token"])
    assert not {"Showing it", "Of it, waiting for the link"} & set(rows)


def test_damaged_figures_are_left_out() -> None:
    damaged = answer(prompt_tokens="many", ttft=3, settings="x", prefill_tokens_per_second=None)
    assert [title for title, _ in details_rows(damaged)] == ["Message"]


def test_the_same_as_text() -> None:
    text = details_text(answer(**finished_stats(FINISHED)))
    assert "Tokens\n  Prompt: 1,512\n  From cache: 1,128\n" in text


def test_short_times_are_in_milliseconds() -> None:
    assert [duration_words(each) for each in (0, 0.00002, 0.0099, 0.01)] == [
        "0 s",
        "0.02 ms",
        "9.9 ms",
        "0.01 s",
    ]
