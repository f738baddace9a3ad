"""The tree of versions: which branch is shown, and what is left when one goes."""

from __future__ import annotations

import pytest

from app.history.message_tree import MessageTree

#  1 ─ 2 ─ 3 ─ 6
#      └── 5        (another answer to 1 is 4)
PAIRS = [(1, None), (2, 1), (3, 2), (4, 1), (5, 2), (6, 3)]


@pytest.fixture
def tree() -> MessageTree:
    return MessageTree(reversed(PAIRS))


@pytest.mark.parametrize(
    ("leaf", "path"), [(6, [1, 2, 3, 6]), (5, [1, 2, 5]), (4, [1, 4]), (1, [1]), (None, [1, 2, 3, 6])]
)
def test_branch_runs_from_the_first_message_to_the_leaf(
    tree: MessageTree, leaf: int | None, path: list[int]
) -> None:
    assert tree.branch(leaf) == path


def test_unknown_leaf_shows_the_newest_branch(tree: MessageTree) -> None:
    assert tree.branch(99) == [1, 2, 3, 6]
    assert MessageTree([]).branch(3) == []


def test_versions_are_oldest_first(tree: MessageTree) -> None:
    assert [tree.versions(each) for each in (1, 2, 5, 6)] == [(1,), (2, 4), (3, 5), (6,)]


def test_newest_leaf_is_the_end_of_the_youngest_branch(tree: MessageTree) -> None:
    assert [tree.newest_leaf(each) for each in (2, 4, 5)] == [6, 4, 5]


@pytest.mark.parametrize(("gone", "leaf"), [(1, None), (2, 4), (3, 5), (4, 6), (5, 6), (6, 3)])
def test_another_version_or_the_parent_follows(tree: MessageTree, gone: int, leaf: int | None) -> None:
    assert tree.leaf_without(gone) == leaf


def test_below_holds_a_long_chain(tree: MessageTree) -> None:
    assert sorted(tree.below(2)) == [2, 3, 5, 6]
    chain = MessageTree([(1, None), *((number + 1, number) for number in range(1, 5000))])
    assert chain.below(1) == chain.branch(5000) == list(range(1, 5001))


def test_damaged_parents_count_as_none() -> None:
    tree = MessageTree([(1, 2), (2, 1), (3, 3), (4, 77)])
    assert [tree.branch(each) for each in (1, 2, 3, 4)] == [[1], [1, 2], [3], [4]]
