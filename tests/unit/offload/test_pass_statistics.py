"""Counts of picks by hand: per layer, per phase, lazily folded or at once."""

from __future__ import annotations

import numpy as np

from engine.offload.pass_statistics import PassStatistics


def token(statistics: PassStatistics, *picks: list[int], is_watched: bool) -> None:
    statistics.begin_pass(1, False)
    for layer, ids in enumerate(picks):
        array = np.array([ids], np.int32)
        if is_watched:
            statistics.token_picked(layer, array.tobytes())
        else:
            statistics.layer_done(layer, array, 10, 4)
    statistics.end_pass()


def test_watched_layers_count_like_the_others() -> None:
    folded, watched = PassStatistics(2, 4), PassStatistics(2, 4)
    for statistics, is_watched in ((folded, False), (watched, True)):
        token(statistics, [0, 1], [3, 2], is_watched=is_watched)
        token(statistics, [0, 2], [3, 1], is_watched=is_watched)
        statistics.fold_watched()
        assert statistics.uses.tolist() == [[[0] * 4] * 2, [[2, 1, 1, 0], [0, 1, 1, 2]]]
        assert statistics.last_use_pass.tolist() == [[2, 1, 2, 0], [0, 2, 1, 2]]
        assert statistics.expert_requests == 8
    assert (folded.callback_ns, folded.wait_decode_ns) == (2 * 2 * 6, 2 * 2 * 4)


def test_prefill_is_counted_at_once_and_apart() -> None:
    statistics = PassStatistics(1, 4)
    statistics.begin_pass(3, True)
    statistics.layer_done(0, np.array([[0, 1], [0, 2], [0, 1]], np.int32), 10, 0)
    assert statistics.uses[0].tolist() == [[3, 2, 1, 0]]
    assert statistics.expert_requests == 3  # distinct experts of the unit
    assert statistics.end_pass()  # a prompt is a time to promote
    assert statistics.uses[1].sum() == 0


def test_streamed_experts_that_were_wanted() -> None:
    statistics = PassStatistics(2, 8)
    statistics.streamed(1, np.array([1, 2, 3]))
    statistics.misses(1, np.array([2, 3, 7]), 1)
    assert (statistics.expert_streamed, statistics.expert_streamed_used, statistics.expert_misses) == (
        3,
        2,
        1,
    )
