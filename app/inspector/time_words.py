"""Figures of a stretch of time in words; each is a sum of the counters or a quotient of two sums."""

from __future__ import annotations

from app.ceiling import Ceiling
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


def figures_words(window: WindowTotals | None, drive: Ceiling, link: Ceiling | None) -> str:
    """What the last seconds were like."""
    if window is None:
        return f"Figures: {UNKNOWN} until two samples of the counters are there."
    return (
        f"Last {seconds_text(window.span_ns)}: prefill {speed_text(window.prefill_tokens_per_second)}, "
        f"decode {speed_text(window.decode_tokens_per_second)}; "
        f"disk read {load_words(window.bytes_per_second, drive)}, {_per_token(window)}"
        f"{_link_words(window, link)}; "
        f"computed {percent_text(window.compute_share)} of the time, "
        f"stood still for the disk {percent_text(window.disk_wait_share)}"
        f"{_link_wait(window, link, is_sum=False)}."
    )


def load_words(bytes_per_second: float, ceiling: Ceiling) -> str:
    """A rate, and its share of the measured maximum."""
    share = ceiling.share(bytes_per_second)
    if share is None:
        return f"{rate_text(bytes_per_second)} (maximum not measured)"
    maximum = rate_text(ceiling.bytes_per_second)
    return f"{rate_text(bytes_per_second)}, {percent_text(share)} of the measured maximum ({maximum})"


def selection_words(totals: WindowTotals | None, drive: Ceiling, link: Ceiling | None) -> str:
    """Sums over a selection."""
    if totals is None:
        return "Selected: no sample lies in this stretch; drag over more of it."
    return (
        f"Selected {seconds_text(totals.span_ns)}: "
        f"prefill {count_text(totals.prefill_tokens)} tokens "
        f"({speed_text(totals.prefill_tokens_per_second)}), "
        f"decode {count_text(totals.decode_tokens)} tokens "
        f"({speed_text(totals.decode_tokens_per_second)}); "
        f"disk read {format_size(totals.bytes_read)}, {_per_token(totals)}, "
        f"at {load_words(totals.bytes_per_second, drive)}{_link_words(totals, link)}; "
        f"stood still for the disk {milliseconds_text(totals.disk_wait_ns)} "
        f"({percent_text(totals.disk_wait_share)}){_link_wait(totals, link, is_sum=True)}; "
        f"expert requests {count_text(totals.expert_requests)}, misses {count_text(totals.expert_misses)}, "
        f"evictions {count_text(totals.evictions)}."
    )


def _per_token(totals: WindowTotals) -> str:
    size = totals.bytes_per_token
    return f"{UNKNOWN if size is None else format_size(size)} per token"


def _link_words(totals: WindowTotals, link: Ceiling | None) -> str:
    if link is None:
        return ""
    return f"; copied to devices {load_words(totals.link_bytes_per_second, link)}"


def _link_wait(totals: WindowTotals, link: Ceiling | None, is_sum: bool) -> str:
    if link is None:
        return ""
    share = percent_text(totals.transfer_wait_share)
    length = f"{milliseconds_text(totals.transfer_wait_ns)} ({share})" if is_sum else share
    return f", for the link {length}"
