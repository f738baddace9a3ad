"""Which layers cost what, in words."""

from __future__ import annotations

import numpy as np

from app.inspector.cost_words import cost_rows, cost_words

MS = 1_000_000
# computing, disk, link, own, misses of the layers 3, 4 and 5
TOTALS = np.array([[10, 10, 10], [0, 60, 10], [0, 0, 0], [1, 2, 3], [0, 0, 0]]) * MS
TOTALS[4] = (0, 40, 7)


def test_the_costliest_layer_and_how_waits_are_spread() -> None:
    assert cost_words(TOTALS, (3, 4, 5)) == (
        "Layer 4 cost most: 72 ms, 68 % of all layers’ 106 ms; of it 83 % waiting for disk. "
        "Half of the wait for the disk was in 1 of 3 layers."
    )
    calm = TOTALS.copy()
    calm[1] = 0
    assert cost_words(calm, (3, 4, 5)).endswith("No layer waited for the disk.")
    assert cost_words(np.zeros_like(TOTALS), (3, 4, 5)) == "No layer has cost any time here yet."


def test_rows_begin_with_the_costliest_and_end_with_the_sum() -> None:
    assert cost_rows(TOTALS, (3, 4, 5)) == [
        ("4", "10 ms", "60 ms", "0 ms", "2.0 ms", "40"),
        ("5", "10 ms", "10 ms", "0 ms", "3.0 ms", "7"),
        ("3", "10 ms", "0 ms", "0 ms", "1.0 ms", "0"),
        ("all 3", "30 ms", "70 ms", "0 ms", "6.0 ms", "47"),
    ]
