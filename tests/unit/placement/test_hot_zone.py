"""Who is hot: the most used, and a newcomer only if it is clearly better."""

from __future__ import annotations

import numpy as np

from engine.placement.hot_zone import choose_hot


def chosen(weight: list[float], hot: str, count: int, usable: str = "") -> str:
    """One row; "x" marks an expert."""
    is_hot = np.array([[mark == "x" for mark in hot]])
    may_be = np.array([[mark == "x" for mark in usable or "x" * len(hot)]])
    row = choose_hot(np.array([weight]), may_be, is_hot, count)[0]
    return "".join("x" if each else "." for each in row)


def test_the_most_used_become_hot() -> None:
    assert chosen([3, 9, 1, 7], "....", 2) == ".x.x"


def test_nobody_is_replaced_by_one_that_is_hardly_better() -> None:
    assert chosen([10, 12, 1, 1], "x...", 1) == "x..."
    assert chosen([10, 13, 1, 1], "x...", 1) == ".x.."


def test_what_is_not_there_or_was_never_used_is_not_hot() -> None:
    assert chosen([3, 9, 0, 7], "....", 3, usable="x.xx") == "x..x"
    assert chosen([3, 9], "xx", 0) == ".."
    assert chosen([3, 9], "..", 5) == "xx"
