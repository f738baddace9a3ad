"""What is said about an answer: while it is made, how it ended, and its figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace

from app.history.records import FAILED, INTERRUPTED, STOPPED, STREAMING
from app.setting_places import next_step_with_places
from engine.config import format_size
from engine.errors import ErrorInfo
from engine.events import FinishReason, GenerationFinished, PrefillProgress

_LIMITS = {
    FinishReason.MAX_TOKENS: "Ended at the token limit.",
    FinishReason.CONTEXT_FULL: "Ended because the context window is full. Start a new conversation to go on.",
}


def duration_words(seconds: float) -> str:
    """0.31 ms, 0.35 s, 12 s, 3 min 20 s, 2 h 5 min."""
    if 0 < seconds < 0.01:
        return f"{seconds * 1000:.2g} ms"
    if seconds < 10:
        return f"{seconds:.2g} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def rate_words(per_second: float) -> str:
    """Three digits at most: 0.45, 8.1, 25, 1,200 tok/s."""
    digits = f"{per_second:.2f}" if per_second < 1 else f"{per_second:.1f}" if per_second < 10 else ""
    return f"{digits or f'{per_second:,.0f}'} tok/s"


def prefill_words(progress: PrefillProgress) -> str:
    """Tokens done and re-used, speed and time left, as far as they are known."""
    new_done = progress.done_tokens - progress.cached_tokens
    words = [f"Reading the prompt: {progress.done_tokens:,} of {progress.total_tokens:,} tokens"]
    if progress.cached_tokens:
        words.append(f"{progress.cached_tokens:,} from cache")
    if progress.layers_total and progress.layers_done < progress.layers_total:
        words.append(f"layer {progress.layers_done} of {progress.layers_total}")
    if new_done > 0 and progress.elapsed_ns > 0:
        per_second = new_done * 1e9 / progress.elapsed_ns
        left_seconds = (progress.total_tokens - progress.done_tokens) / per_second
        words += [rate_words(per_second), f"about {duration_words(left_seconds)} left"]
    return " · ".join(words)


def answering_words(completion_tokens: int, elapsed_ns: int) -> str:
    """Progress of an answer; `elapsed_ns` is the time since its first token."""
    words = f"Answering: {completion_tokens:,} tokens"
    if completion_tokens > 1 and elapsed_ns > 0:
        words += f" · {rate_words((completion_tokens - 1) * 1e9 / elapsed_ns)}"
    return words


def finished_stats(event: GenerationFinished, first_paint_ns: int = 0) -> dict[str, object]:
    """What is stored with a finished answer; JSON values only. Only the window knows `first_paint_ns`."""
    usage, ttft = event.usage, replace(event.ttft, first_paint_ns=first_paint_ns)
    return {
        "reason": event.reason.value,
        "prefill_tokens_per_second": usage.prefill_tokens_per_second,
        "decode_tokens_per_second": usage.decode_tokens_per_second,
        **asdict(usage),
        "ttft": {**asdict(ttft), "total_ns": ttft.total_ns},
    }


def failed_stats(error: ErrorInfo) -> dict[str, object]:
    """What is stored with an answer that failed."""
    return {"fault": error.fault, "next_step": next_step_with_places(error), "detail": error.detail}


def ending_words(status: str, stats: Mapping[str, object] | None) -> str:
    """How the answer ended, if that needs saying; empty for a complete one."""
    stats = stats or {}
    if status == FAILED:
        words = " ".join(str(stats.get(key, "")) for key in ("fault", "next_step")).strip()
        return f"Failed: {words}" if words else "Failed."
    plain = {STOPPED: "Stopped.", INTERRUPTED: "Interrupted: the program ended before the answer did."}
    if status in plain:
        return plain[status]
    if status == STREAMING:
        return ""
    return next((words for reason, words in _LIMITS.items() if stats.get("reason") == reason.value), "")


def stats_words(stats: Mapping[str, object] | None) -> str:
    """One line of figures; empty if the answer has none or never began."""
    if not stats or not _number(stats, "prompt_tokens"):
        return ""
    prompt, cached = int(_number(stats, "prompt_tokens")), int(_number(stats, "cached_tokens"))
    words = [f"prompt {prompt:,} tokens ({prompt - cached:,} new, {cached:,} from cache)"]
    if left_out := int(_number(stats, "left_out_messages")):
        words.append(f"the oldest {left_out:,} messages left out")
    words.append(f"answer {int(_number(stats, 'completion_tokens')):,} tokens")
    ttft = stats.get("ttft")
    if isinstance(ttft, Mapping) and (total_ns := _number(ttft, "total_ns")):
        words.append(f"first token after {duration_words(total_ns / 1e9)}")
    for key, phase in (("prefill", "prefill"), ("decode", "decode")):
        if per_second := _number(stats, f"{key}_tokens_per_second"):
            words.append(f"{phase} {rate_words(per_second)}")
    words.append(f"{format_size(_number(stats, 'bytes_read'))} from disk")
    return " · ".join(words)


def _number(values: Mapping[str, object], key: str) -> float:
    """Stored figures may come from a damaged or older file."""
    value = values.get(key, 0)
    return float(value) if isinstance(value, int | float) else 0.0
