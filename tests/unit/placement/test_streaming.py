"""Which experts of the next layer are read ahead, and how many of them."""

from __future__ import annotations

import numpy as np
import pytest

from engine.placement.streaming import StreamPace, use_probability, worth_streaming


def test_use_probability_is_that_of_at_least_one_pick() -> None:
    chance = np.array([8 / 128, 0.5, 1.2])
    assert use_probability(chance, 64) == pytest.approx([1 - (120 / 128) ** 64, 1 - 0.5**64, 1])
    assert use_probability(chance[:1], 1) == pytest.approx([0.0625])


def test_likely_absent_experts_likeliest_first() -> None:
    chance = np.array([0.01, 0.2, 0.9, 0.1, 0.3])
    is_absent = np.array([True, True, False, True, True])
    # of 4 tokens: 0.04, 0.59, resident, 0.34, 0.76
    assert worth_streaming(chance, is_absent, 4, None).tolist() == [4, 1, 3]
    assert worth_streaming(chance, is_absent, 4, 2).tolist() == [4, 1]
    # for one token it takes 0.4
    assert worth_streaming(chance + 0.1, is_absent, 1, None).tolist() == [4]
    assert worth_streaming(chance + 0.09, is_absent, 1, None).tolist() == []


def test_pace_is_what_the_drive_gives_while_a_layer_computes() -> None:
    pace = StreamPace()
    pace.begin_pass()
    pace.reach_layer(1_000)
    assert pace.most(10, 10, 1) is None  # no layer has computed yet
    pace.leave_layer(2_000)
    pace.reach_layer(42_000)
    # 40 us at 2 bytes per ns are 80,000 bytes: 8 experts, a quarter more to be sure, and the one begun
    assert pace.most(4_000, 2_000, 10_000) == 11
    assert pace.most(0, 0, 10_000) is None  # the drive has not been seen at work
    pace.begin_pass()
    assert pace.most(4_000, 2_000, 10_000) is None
