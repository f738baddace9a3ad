"""Order, colours and labels of the expert map."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.inspector.expert_grid import (
    arranged,
    colour_indices,
    half_counts,
    heat_order,
    id_order,
    label_step,
    outline_lines,
    tick_labels,
)


def test_maps_are_arranged_together() -> None:
    order = np.array([[2, 0, 1], [0, 2, 1]])
    heat, tiers = np.array([[9, 8, 7], [6, 5, 255]], np.uint8), np.array([[0, 1, 2], [3, 4, 0]], np.uint8)
    first, second = arranged(order, heat, tiers)
    assert first.tolist() == [[7, 9, 8], [6, 255, 5]]
    assert second.tolist() == [[2, 0, 1], [3, 0, 4]]


def test_order_by_heat_is_per_layer_and_ties_go_by_id() -> None:
    uses = np.array([[1.0, 9.0, 1.0, 4.0], [0.5, 0.0, 0.75, 0.5]])
    assert heat_order(uses).tolist() == [[1, 3, 0, 2], [2, 0, 3, 1]]
    assert id_order((2, 3)).tolist() == [[0, 1, 2], [0, 1, 2]]


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=512))
def test_order_by_heat_agrees_with_a_stable_sort(uses: list[int]) -> None:
    expected = sorted(range(len(uses)), key=lambda i: -uses[i])
    assert heat_order(np.array([uses], np.float64))[0].tolist() == expected


def test_only_unused_experts_have_the_lowest_colour() -> None:
    assert colour_indices(np.array([[0.0, 1.0, 500.0, 1000.0]]), 1000.0).tolist() == [[0, 1, 128, 255]]
    assert colour_indices(np.zeros((1, 2)), 0.0).tolist() == [[0, 0]]


@pytest.mark.parametrize(
    ("pixels", "step"), [(20.0, 1), (7.0, 2), (3.0, 5), (1.3, 10), (0.7, 20), (0.3, 50), (0.14, 100)]
)
def test_labels_stand_apart(pixels: float, step: int) -> None:
    assert label_step(pixels, 13.0) == step


def test_rows_carry_the_models_layer_numbers() -> None:
    layers = range(3, 48)
    assert tick_labels(layers, 0, 45, 10) == [(7.5, "10"), (17.5, "20"), (27.5, "30"), (37.5, "40")]
    assert tick_labels((1, 3, 5, 7), 0, 4, 2) == [(0.5, "1"), (2.5, "5")]
    assert tick_labels((7,), 0, 1, 1) == [(0.5, "7")]
    assert tick_labels((), 0, 0, 1) == []


def test_half_of_the_picks() -> None:
    # 6 of 10; 4 + 4 of 16 is exactly half; nothing used; all equal
    uses = np.array([[1, 6, 1, 2], [4, 4, 4, 4], [0, 0, 0, 0], [1, 0, 0, 0]], np.float64)
    assert half_counts(uses).tolist() == [1, 2, 0, 1]


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=60))
def test_half_of_the_picks_agrees_with_counting(uses: list[int]) -> None:
    taken, count = 0, 0
    for picks in sorted(uses, reverse=True):
        if taken * 2 >= sum(uses):
            break
        taken, count = taken + picks, count + 1
    assert half_counts(np.array([uses], np.float64)).tolist() == [count]


def test_outlines_run_around_groups_not_around_each_place() -> None:
    is_inside = np.array([[0, 1, 1], [0, 0, 1]], bool)
    x, y = outline_lines(is_inside, row=10, column=100)
    points = list(zip(x.tolist(), y.tolist(), strict=True))
    lines = {frozenset(points[i : i + 2]) for i in range(0, len(points), 2)}
    expected = [
        ((101, 10), (101, 11)), ((103, 10), (103, 11)), ((102, 11), (102, 12)), ((103, 11), (103, 12)),
        ((101, 10), (102, 10)), ((102, 10), (103, 10)), ((101, 11), (102, 11)), ((102, 12), (103, 12)),
    ]  # fmt: skip
    assert lines == {frozenset(line) for line in expected}
    assert len(points) == 16
