"""Times of layers by hand: what lies between visits is computation, within them waits and own work."""

from __future__ import annotations

import numpy as np

from engine.offload.layer_times import PASS_END, LayerTimes


def visit(times: LayerTimes, phase: int, *visits: tuple[int, int, int]) -> None:
    layers, started_ns, ended_ns = (np.array(column) for column in zip(*visits, strict=True))
    times.visited(phase, layers, started_ns, ended_ns)


def test_two_passes_of_two_layers() -> None:
    times = LayerTimes(2)
    times.waited(1, 1, 4)
    visit(
        times, 1,
        (0, 100, 102), (1, 112, 119), (PASS_END, 140, 140),
        (0, 1000, 1003), (1, 1020, 1021), (PASS_END, 1121, 1121),
    )  # fmt: skip
    assert times.compute_ns.tolist() == [[0, 0], [10 + 17, 21 + 100]]
    assert times.own_ns.tolist() == [[0, 0], [2 + 3, 7 - 4 + 1]]
    assert times.disk_wait_ns.tolist() == [[0, 0], [0, 4]]


def test_a_layer_seen_twice_in_a_row_is_one_layer() -> None:
    times = LayerTimes(1)
    visit(times, 0, (0, 10, 15), (0, 20, 22), (PASS_END, 30, 30))
    assert (times.compute_ns[0, 0], times.own_ns[0, 0]) == (5 + 8, 5 + 2)


def test_what_still_computes_is_not_counted_yet() -> None:
    times = LayerTimes(1)
    visit(times, 1, (0, 10, 15))
    assert times.compute_ns.sum() == 0
    visit(times, 1, (0, 15, 15), (PASS_END, 45, 45))
    assert (times.compute_ns[1, 0], times.own_ns[1, 0]) == (30, 5)
