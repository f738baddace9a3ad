"""Every bad state of a device's memory is said in words, with the figures and the next step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.backends.vram_notes import vram_notes
from engine.placement.vram_spill import VramFigures

GIB, MIB = 1 << 30, 1 << 20
GOOD = VramFigures(
    total_bytes=12 * GIB,
    free_before_bytes=11 * GIB,
    free_after_bytes=1 * GIB,
    asked_bytes=10 * GIB,
    budget_bytes=10 * GIB + 400 * MIB,
    headroom_bytes=600 * MIB,
    fill_bytes_per_second=400e9,
    link_bytes_per_second=25e9,
)


def test_nothing_is_said_if_all_is_well() -> None:
    assert vram_notes("CUDA0", GOOD) == ()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"asked_bytes": 13 * GIB, "fill_bytes_per_second": 20 * GIB},
            ["shared GPU memory", "20 GiB/s", "as little as the link", "device budget"],
        ),
        ({"asked_bytes": 13 * GIB}, ["13 GiB", "probably", "device budget"]),
        ({"free_after_bytes": 400 * MIB}, ["10.6 GiB", "10.4 GiB", "device budget"]),
        (
            {"free_after_bytes": 500 * MIB, "free_before_bytes": 10 * GIB + 800 * MIB},
            ["500 MiB", "600 MiB", "push"],
        ),
    ],
)
def test_what_is_wrong_is_said_with_the_next_step(changes: dict[str, int], words: list[str]) -> None:
    (note,) = vram_notes("CUDA0", replace(GOOD, **changes))  # type: ignore[arg-type] # a table
    assert "“CUDA0”" in note
    for each in words:
        assert each in note
