"""Copies ahead: likely experts only, no more than come while a layer computes, none on a guess."""

from __future__ import annotations

import numpy as np
import pytest

from engine.placement.copy_ahead import worth_copying

CHANCE = np.array([0.9, 0.2, 0.5, 0.7, 0.4])
ALL = np.ones(5, np.bool_)
EXPERT_BYTES = 1_000_000


def chosen(compute_ns: int | None, rate: float | None, n_tokens: int = 1, waiting: object = ALL) -> list[int]:
    mask = np.asarray(waiting, np.bool_)
    return worth_copying(CHANCE, mask, n_tokens, compute_ns, rate, EXPERT_BYTES).tolist()


@pytest.mark.parametrize(
    ("compute_ns", "expected"),
    # a gigabyte per second is an expert per millisecond
    [(10_000_000, [0, 3, 2, 4]), (2_999_999, [0, 3]), (1_000_000, [0]), (999_999, []), (0, [])],
)
def test_as_many_as_the_link_carries_while_a_layer_computes(compute_ns: int, expected: list[int]) -> None:
    assert chosen(compute_ns, 1e9) == expected


def test_more_tokens_make_more_experts_likely() -> None:
    assert chosen(10_000_000, 1e9, n_tokens=2) == [0, 3, 2, 4, 1]  # 1 - 0.8^2 = 0.36


def test_only_what_waits_in_ram() -> None:
    assert chosen(10_000_000, 1e9, waiting=[0, 1, 1, 0, 1]) == [2, 4]


@pytest.mark.parametrize(("compute_ns", "rate"), [(None, 1e9), (10_000_000, None)])
def test_nothing_is_begun_before_the_figures_are_known(compute_ns: int | None, rate: float | None) -> None:
    assert chosen(compute_ns, rate) == []
