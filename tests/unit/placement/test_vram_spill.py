"""Spill of a card's memory into this machine's: told by figures, not by the system."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.placement.vram_spill import VramFigures, VramState, judge_vram

GIB, MIB = 1 << 30, 1 << 20
# a card of 12 GiB on a link of 25 GB/s; its memory gives 400 GB/s
GOOD = VramFigures(
    total_bytes=12 * GIB,
    free_before_bytes=11 * GIB,
    free_after_bytes=1 * GIB,
    asked_bytes=10 * GIB,
    budget_bytes=11 * GIB - 600 * MIB,
    headroom_bytes=600 * MIB,
    card_used_bytes=11 * GIB,
    fill_bytes_per_second=400e9,
    link_bytes_per_second=25e9,
)


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, VramState.GOOD),
        # asked for more than was free, and it was granted
        ({"asked_bytes": 13 * GIB, "fill_bytes_per_second": 20e9}, VramState.SPILLED),
        ({"asked_bytes": 13 * GIB}, VramState.SUSPECTED),
        ({"asked_bytes": 13 * GIB, "fill_bytes_per_second": None}, VramState.SUSPECTED),
        # full, and 2 GiB of what was asked for are nowhere
        (
            {"free_before_bytes": 10 * GIB, "free_after_bytes": 200 * MIB, "asked_bytes": 10 * GIB,
             "budget_bytes": 10 * GIB, "card_used_bytes": None, "fill_bytes_per_second": 30e9},
            VramState.SPILLED,
        ),
        (
            {"free_before_bytes": 9 * GIB, "free_after_bytes": 1 * GIB, "asked_bytes": 9 * GIB,
             "card_used_bytes": 7 * GIB},
            VramState.SUSPECTED,
        ),
        # slow, but nothing is full and nothing is missing: a processor's graphics, whose memory is RAM
        ({"fill_bytes_per_second": 20e9}, VramState.GOOD),
        ({"free_after_bytes": 300 * MIB, "free_before_bytes": 10 * GIB + 400 * MIB}, VramState.TIGHT),
        ({"free_after_bytes": 300 * MIB, "free_before_bytes": 12 * GIB}, VramState.OVERDRAWN),
        # rounding and a desktop that took a little meanwhile
        ({"card_used_bytes": 10 * GIB - 20 * MIB}, VramState.GOOD),
        ({"card_used_bytes": None, "fill_bytes_per_second": None}, VramState.GOOD),
        ({"link_bytes_per_second": None}, VramState.GOOD),
    ],
)  # fmt: skip
def test_the_state_by_figures(changes: dict[str, int | float | None], state: VramState) -> None:
    assert judge_vram(replace(GOOD, **changes)) is state  # type: ignore[arg-type] # a table
