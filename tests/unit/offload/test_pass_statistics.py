"""Counts of picks by hand: per layer, per phase, lazily folded or at once."""

from __future__ import annotations

from time import perf_counter_ns

import numpy as np

from engine.offload.pass_statistics import PassStatistics
from engine.placement.tier import Tier


def token(statistics: PassStatistics, *picks: list[int], is_watched: bool) -> None:
    statistics.begin_pass(1, False)
    for layer, ids in enumerate(picks):
        array = np.array([ids], np.int32)
        if is_watched:
            statistics.token_picked(layer, array.tobytes(), perf_counter_ns())
        else:
            statistics.asked_kept(layer, array)
            statistics.layer_done(layer, array, perf_counter_ns(), 4)
    statistics.end_pass()


def test_watched_layers_count_like_the_others() -> None:
    folded, watched = PassStatistics(2, 4), PassStatistics(2, 4)
    for statistics, is_watched in ((folded, False), (watched, True)):
        token(statistics, [0, 1], [3, 2], is_watched=is_watched)
        token(statistics, [0, 2], [3, 1], is_watched=is_watched)
        statistics.fold()
        assert statistics.uses.tolist() == [[[0] * 4] * 2, [[2, 1, 1, 0], [0, 1, 1, 2]]]
        assert statistics.last_use_pass.tolist() == [[2, 1, 2, 0], [0, 2, 1, 2]]
        assert statistics.requests_by_tier.tolist() == [0, 0, 8, 0, 0]
        assert statistics.expert_requests == 8
        assert (statistics.times.compute_ns[1] > 0).all()
        assert statistics.times.compute_ns[0].tolist() == [0, 0]
    assert folded.times.disk_wait_ns.tolist() == [[0, 0], [2 * 4, 2 * 4]]
    assert watched.times.disk_wait_ns.sum() == 0
    assert (watched.times.own_ns[1] > 0).all()


def test_reading_figures_within_a_pass_changes_none() -> None:
    read, unread = PassStatistics(3, 4), PassStatistics(3, 4)
    for statistics, is_read in ((read, True), (unread, False)):
        for _ in range(2):
            statistics.begin_pass(1, False)
            for layer in range(3):
                statistics.token_picked(layer, np.array([layer, 3], np.int32).tobytes(), perf_counter_ns())
                if is_read:
                    statistics.fold()
            statistics.end_pass()
        statistics.fold()
        assert (statistics.times.compute_ns[1] > 0).all()
    assert read.uses.tolist() == unread.uses.tolist()
    assert read.last_use_pass.tolist() == unread.last_use_pass.tolist() == [
        [2, 0, 0, 2], [0, 2, 0, 2], [0, 0, 2, 2],
    ]  # fmt: skip


def test_times_of_a_prompt_and_of_an_answer_are_kept_apart() -> None:
    statistics = PassStatistics(1, 4)
    for is_prefill in (True, False):
        statistics.begin_pass(1, is_prefill)
        statistics.layer_done(0, np.array([[0, 1]], np.int32), perf_counter_ns(), 5 if is_prefill else 7)
        statistics.end_pass()
    statistics.fold()
    assert statistics.times.disk_wait_ns.tolist() == [[5], [7]]
    assert (statistics.times.compute_ns > 0).all()


def test_requests_count_where_the_expert_was() -> None:
    statistics = PassStatistics(1, 8)
    statistics.asked(np.array([Tier.DISK, Tier.HOT, Tier.DISK, Tier.HOST_WINDOW], np.uint8))
    statistics.kept_tiers[0, 5] = Tier.HOT
    statistics.asked_kept(0, np.array([[5, 1], [5, 2]], np.int32))
    statistics.begin_pass(1, False)
    statistics.token_picked(0, np.array([5, 6], np.int32).tobytes(), perf_counter_ns())
    statistics.end_pass()
    statistics.fold()
    assert statistics.requests_by_tier.tolist() == [2, 1, 3, 3, 0]


def test_prefill_is_counted_at_once_and_apart() -> None:
    statistics = PassStatistics(1, 4)
    statistics.begin_pass(3, True)
    picked = np.array([[0, 1], [0, 2], [0, 1]], np.int32)
    statistics.asked_kept(0, picked)
    statistics.layer_done(0, picked, perf_counter_ns(), 0)
    assert statistics.uses[0].tolist() == [[3, 2, 1, 0]]
    assert statistics.expert_requests == 3  # distinct experts of the unit
    assert statistics.end_pass()  # a prompt is a time to promote
    assert statistics.uses[1].sum() == 0


def test_streamed_experts_that_were_wanted() -> None:
    statistics = PassStatistics(2, 8)
    statistics.streamed(1, np.array([1, 2, 3]))
    statistics.misses(1, np.array([2, 3, 7]), 1)
    assert (statistics.expert_streamed, statistics.expert_streamed_used) == (3, 2)
    assert statistics.times.misses.tolist() == [[0, 0], [0, 1]]


def test_waits_for_rows_count_for_the_pass_and_for_no_layer() -> None:
    statistics = PassStatistics(1, 4)
    statistics.begin_pass(3, True)
    statistics.waited_for_rows(5)  # before the first layer: nobody computes
    assert statistics.times.compute_ns.tolist() == [[0], [0]]
    statistics.layer_done(0, np.array([[0, 1]], np.int32), 10, 0)
    statistics.waited_for_rows(7)
    assert statistics.times.compute_ns.tolist() == [
        [-7],
        [0],
    ]  # what the layer's time until the end will hold
    statistics.begin_pass(1, False)
    statistics.waited_for_rows(2)
    assert statistics.row_wait_ns == [5 + 7, 2]
    assert statistics.times.disk_wait_ns.sum() == 0
