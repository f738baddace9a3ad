"""The choice of a warm-up against brute force, and hit rates by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from engine.placement.warm_up import expected_hits, most_wanted, warm_up_experts


@pytest.mark.parametrize("n_slots", [1, 3, 5, 8])
def test_no_choice_of_as_many_has_a_higher_hit_rate(n_slots: int) -> None:
    chance = np.random.default_rng(4).random((2, 4)) * [[1], [3]]
    chosen = warm_up_experts(chance, n_slots)
    worth = chance / chance.sum(axis=1, keepdims=True)
    got = sum(worth[row, experts].sum() for row, experts in enumerate(chosen))
    best = max(sum(each) for each in combinations(worth.ravel().tolist(), n_slots))
    assert sum(map(len, chosen)) == n_slots
    assert got == pytest.approx(best)


def test_as_long_as_nothing_is_known_rows_share_alike() -> None:
    chosen = warm_up_experts(np.full((3, 8), 0.3), 7)
    assert [experts.tolist() for experts in chosen] == [[0, 1, 2], [0, 1], [0, 1]]


def test_a_row_with_few_favourites_leaves_slots_to_the_others() -> None:
    chance = np.array([[0.9, 0.9, 0.1, 0.1], [0.5, 0.5, 0.5, 0.5]])
    assert [len(experts) for experts in warm_up_experts(chance, 6)] == [2, 4]


def test_more_slots_than_experts_take_all() -> None:
    assert [len(experts) for experts in warm_up_experts(np.ones((2, 3)), 10)] == [3, 3]


def test_expected_hits() -> None:
    weight = np.array([[3.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    is_resident = np.array([[True, False, True, False], [True, False, False, False]])
    assert expected_hits(weight, is_resident) == pytest.approx([0.75, 0.25])


@pytest.mark.parametrize(
    ("count", "expected"), [(0, [[], []]), (2, [[3], [1]]), (3, [[0, 3], [1]]), (9, [[0, 3], [1, 2]])]
)
def test_the_most_wanted_candidates_of_all_rows(count: int, expected: list[list[int]]) -> None:
    weight = np.array([[2.0, 9.0, 0.0, 5.0], [8.0, 4.0, 1.0, 0.0]])
    is_candidate = np.array([[True, False, True, True], [False, True, True, True]])  # the hottest two are not
    assert [row.tolist() for row in most_wanted(weight, is_candidate, count)] == expected
