"""Figures of a stretch of time in words; each is a sum of the counters or a quotient of two sums."""

from __future__ import annotations

from app.inspector.figures import (
    UNKNOWN,
    count_text,
    milliseconds_text,
    percent_text,
    rate_text,
    seconds_text,
    speed_text,
)
from app.window_totals import WindowTotals
from engine.config import format_size


def figures_words(window: WindowTotals | None, drive_bytes_per_second: float) -> str:
    """What the last seconds were like."""
    if window is None:
        return f"Figures: {UNKNOWN} until two samples of the counters are there."
    return (
        f"Last {seconds_text(window.span_ns)}: prefill {speed_text(window.prefill_tokens_per_second)}, "
        f"decode {speed_text(window.decode_tokens_per_second)}; "
        f"disk read {load_words(window.bytes_per_second, drive_bytes_per_second)}; "
        f"stood still for the disk {percent_text(window.disk_wait_share)} of the time."
    )


def load_words(bytes_per_second: float, drive_bytes_per_second: float) -> str:
    """A rate, and its share of the drive's measured maximum."""
    share = percent_text(bytes_per_second / drive_bytes_per_second if drive_bytes_per_second else None)
    return (
        f"{rate_text(bytes_per_second)}, {share} of the drive’s measured maximum "
        f"({rate_text(drive_bytes_per_second or None)})"
    )


def selection_words(totals: WindowTotals | None, drive_bytes_per_second: float) -> str:
    """Sums over a selection."""
    if totals is None:
        return "Selected: no sample lies in this stretch; drag over more of it."
    tokens = totals.prefill_tokens + totals.decode_tokens
    per_token = format_size(totals.bytes_read // tokens) if tokens else UNKNOWN
    return (
        f"Selected {seconds_text(totals.span_ns)}: "
        f"prefill {count_text(totals.prefill_tokens)} tokens "
        f"({speed_text(totals.prefill_tokens_per_second)}), "
        f"decode {count_text(totals.decode_tokens)} tokens "
        f"({speed_text(totals.decode_tokens_per_second)}); "
        f"disk read {format_size(totals.bytes_read)}, {per_token} per token, "
        f"at {load_words(totals.bytes_per_second, drive_bytes_per_second)}; "
        f"stood still for the disk {milliseconds_text(totals.disk_wait_ns)} "
        f"({percent_text(totals.disk_wait_share)}); "
        f"expert requests {count_text(totals.expert_requests)}, misses {count_text(totals.expert_misses)}, "
        f"evictions {count_text(totals.evictions)}."
    )
