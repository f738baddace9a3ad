"""Which layers cost what, in words and rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.inspector.figures import count_text, milliseconds_text, percent_text
from app.layer_costs import COSTS, TIMES

COST_WORDS = {
    "compute_ns": "computing",
    "disk_wait_ns": "waiting for disk",
    "transfer_wait_ns": "waiting for the link",
    "own_ns": "our own work",
}
ROWS_SHOWN = 8
_HALF = 0.5
_DISK = COSTS.index("disk_wait_ns")


def cost_words(totals: NDArray[np.int64], layers: tuple[int, ...]) -> str:
    """The costliest layer and how the wait for the disk is spread; `totals`: shape (COSTS, layers)."""
    times = totals[: len(TIMES)]
    per_layer, whole = times.sum(axis=0), int(times.sum())
    if not whole:
        return "No layer has cost any time here yet."
    place = int(per_layer.argmax())
    kind = int(times[:, place].argmax())
    own_share = float(times[kind, place] / per_layer[place])
    sentence = (
        f"Layer {layers[place]} cost most: {milliseconds_text(int(per_layer[place]))}, "
        f"{percent_text(float(per_layer[place]) / whole)} of all layers’ {milliseconds_text(whole)}; "
        f"of it {percent_text(own_share)} {COST_WORDS[TIMES[kind]]}."
    )
    waits = np.sort(totals[_DISK])[::-1]
    if not waits.any():
        return f"{sentence} No layer waited for the disk."
    few = int(np.searchsorted(np.cumsum(waits), waits.sum() * _HALF)) + 1
    return f"{sentence} Half of the wait for the disk was in {few} of {len(layers)} layers."


def cost_rows(totals: NDArray[np.int64], layers: tuple[int, ...]) -> list[tuple[str, ...]]:
    """(layer, computing, disk, link, own, misses), the costliest layers first, in the end the sum."""
    order = np.argsort(-totals[: len(TIMES)].sum(axis=0), kind="stable")[:ROWS_SHOWN]
    rows = [_row(str(layers[place]), totals[:, place]) for place in order.tolist()]
    return [*rows, _row(f"all {len(layers)}", totals.sum(axis=1))]


def _row(name: str, costs: NDArray[np.int64]) -> tuple[str, ...]:
    *times, misses = costs.tolist()
    return name, *(milliseconds_text(each) for each in times), count_text(misses)
