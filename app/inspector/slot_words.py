"""Sentences and table rows about slots: how full, how often they help, what moved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from app.expert_moves import MOVES, MOVES_KEPT_NS
from app.inspector.display_words import MOVE_WORDS, TIER_WORDS
from app.inspector.figures import UNKNOWN, count_text, part_text, percent_text, seconds_text
from app.inspector.slot_figures import TierFigures
from app.window_totals import WindowTotals, hit_share
from engine.config import format_size
from engine.events import Counters
from engine.placement.tier import Tier


def hits_words(counters: Counters | None, window: WindowTotals | None) -> str:
    """Hit rate and evictions, lately and since the load."""
    total = hit_share(counters.expert_requests, counters.expert_misses) if counters else None
    if window is None:
        return f"Hit rate since the load: {percent_text(total)}. Lately: {UNKNOWN}."
    lately = f"last {seconds_text(window.span_ns)}"
    return (
        f"Hit rate: {percent_text(window.hit_share)} in the {lately}, {percent_text(total)} since the load. "
        f"Evictions: {window.evictions_per_second:,.1f}/s in the {lately}, "
        f"{count_text(counters.evictions if counters else None)} since the load."
    )


def moves_words(counts: NDArray[np.int64], counters: Counters | None) -> str:
    """What moved lately (`counts`: shape (MOVES, moe layers)), and the exact totals."""
    seen = zip(MOVES, counts.sum(axis=1).tolist(), strict=True)
    parts = ", ".join(f"{count_text(count)} {MOVE_WORDS[move]}" for move, count in seen)
    read = counters.expert_misses + counters.expert_streamed if counters else None
    evicted = counters.evictions if counters else None
    return (
        f"Seen in the last {seconds_text(MOVES_KEPT_NS)}: {parts}. These are differences of samples, so what "
        "came and went between two of them is left out. "
        f"Exact, since the load: {count_text(read)} read for answers, {count_text(evicted)} evicted."
    )


def lent_words(rows: Sequence[TierFigures]) -> str:
    """Why the window can hold more than its own slots; empty if it doesn't."""
    window = next((row for row in rows if row.tier is Tier.HOST_WINDOW), None)
    if window is None or window.slots is None or window.experts <= window.slots:
        return ""
    lent = window.experts - window.slots
    return f" Slots that other layers’ pools lent to the window: {count_text(lent)}."


def tier_texts(row: TierFigures, window: WindowTotals | None) -> tuple[str, str, str, str, str]:
    """(where, experts, slots, bytes, share of the requests that found their expert there)."""
    asked = percent_text(window.tier_share(row.tier) if window else None)
    if row.slots is None or row.slots_bytes is None:
        return TIER_WORDS[row.tier], count_text(row.experts), "", format_size(row.used_bytes), asked
    size = part_text(row.used_bytes, row.slots_bytes)
    return TIER_WORDS[row.tier], count_text(row.experts), count_text(row.slots), size, asked
