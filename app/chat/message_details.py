"""Everything that is known about one message, as rows of a table; pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from app.chat.answer_words import duration_words, ending_words, rate_words
from app.history.records import COMPLETE, Message
from engine.config import format_size

Rows = list[tuple[str, str]]
_PHASES = (
    ("queue_ns", "waiting for its turn"),
    ("load_ns", "loading the model"),
    ("initialise_ns", "preparing the model"),
    ("warm_up_ns", "warm-up"),
    ("template_ns", "template and tokens"),
    ("prefill_ns", "reading the prompt"),
    ("first_decode_ns", "first token"),
    ("first_paint_ns", "showing it"),
)
_SETTINGS = (
    ("temperature", "Temperature"),
    ("top_k", "Top-k"),
    ("top_p", "Top-p"),
    ("min_p", "Min-p"),
    ("repeat_penalty", "Repeat penalty"),
    ("max_tokens", "Longest answer"),
    ("seed", "Seed"),
    ("system_prompt", "System prompt"),
)
_UNSET = {"max_tokens": "no limit", "seed": "by chance", "system_prompt": "none"}


def details_rows(message: Message) -> list[tuple[str, Rows]]:
    """Sections with their rows, in reading order; only what is known."""
    stats = message.stats or {}
    sections = [
        ("Message", _message_rows(message)),
        ("Tokens", _token_rows(stats)),
        ("Time to first token", _ttft_rows(stats)),
        ("Speed and disk", _speed_rows(stats)),
        ("Settings used", _settings_rows(stats)),
    ]
    return [(title, rows) for title, rows in sections if rows]


def details_text(message: Message) -> str:
    """The same as plain text, for the clipboard."""
    parts = []
    for title, rows in details_rows(message):
        parts.append("\n".join([title, *(f"  {name}: {value}" for name, value in rows)]))
    return "\n\n".join(parts)


def _message_rows(message: Message) -> Rows:
    written = datetime.fromtimestamp(message.created_at_seconds).astimezone()
    rows = [
        ("From", "you" if message.role == "user" else "the model"),
        ("Written", written.strftime("%Y-%m-%d %H:%M:%S")),
        ("Length", f"{len(message.text):,} characters"),
    ]
    if message.model_name:
        rows.insert(1, ("Model", message.model_name))
    if message.attachments:
        rows.append(("Attached", ", ".join(each.name for each in message.attachments)))
    if message.role == "assistant":
        ending = ending_words(message.status, message.stats)
        rows.append(("Ended", ending or ("by itself" if message.status == COMPLETE else "not yet")))
    if thinking_seconds := _number(message.stats or {}, "thinking_seconds"):
        rows.append(("Thought for", duration_words(thinking_seconds)))
    return rows


def _token_rows(stats: Mapping[str, object]) -> Rows:
    prompt = _whole(stats, "prompt_tokens")
    if not prompt:
        return []
    cached = _whole(stats, "cached_tokens")
    rows = [
        ("Prompt", f"{prompt:,}"),
        ("From cache", f"{cached:,}"),
        ("Newly read", f"{prompt - cached:,}"),
        ("Answer", f"{_whole(stats, 'completion_tokens'):,}"),
    ]
    if left_out := _whole(stats, "left_out_messages"):
        tokens = _whole(stats, "left_out_tokens")
        rows.append(("Left out", f"the oldest {left_out:,} messages ({tokens:,} tokens)"))
    if stats.get("is_continuation"):
        rows.append(("Continued", "these figures are those of the last part"))
    return rows


def _ttft_rows(stats: Mapping[str, object]) -> Rows:
    """Phases that took no time are left out; the rest adds up to the total."""
    ttft = stats.get("ttft")
    if not isinstance(ttft, Mapping) or not _whole(ttft, "total_ns"):
        return []
    rows = [("Total", _duration(ttft, "total_ns"))]
    rows += [(name.capitalize(), _duration(ttft, key)) for key, name in _PHASES if _whole(ttft, key)]
    if _whole(ttft, "prefill_disk_wait_ns"):
        rows.append(("Of it, waiting for the disk", _duration(ttft, "prefill_disk_wait_ns")))
    if _whole(ttft, "prefill_transfer_wait_ns"):
        rows.append(("Of it, waiting for the link", _duration(ttft, "prefill_transfer_wait_ns")))
    return rows


def _speed_rows(stats: Mapping[str, object]) -> Rows:
    rows = []
    for key, name in (("prefill", "Reading the prompt"), ("decode", "Answering")):
        per_second = _number(stats, f"{key}_tokens_per_second")
        if per_second:
            rows.append((name, rate_words(per_second)))
    if "bytes_read" in stats:
        rows.append(("Read from disk", format_size(_number(stats, "bytes_read"))))
        rows.append(("Waited for the disk", _duration(stats, "disk_wait_ns")))
    return rows


def _settings_rows(stats: Mapping[str, object]) -> Rows:
    settings = stats.get("settings")
    if not isinstance(settings, Mapping):
        return []
    rows = []
    for key, name in _SETTINGS:
        value = settings.get(key)
        is_unset = value is None or value == ""
        rows.append((name, _UNSET.get(key, "default") if is_unset else str(value)))
    return rows


def _duration(values: Mapping[str, object], key: str) -> str:
    return duration_words(_number(values, key) / 1e9)


def _whole(values: Mapping[str, object], key: str) -> int:
    return int(_number(values, key))


def _number(values: Mapping[str, object], key: str) -> float:
    """Stored figures may come from a damaged or older file."""
    value = values.get(key, 0)
    return float(value) if isinstance(value, int | float) else 0.0
