"""Pages of rows against a list of bytes; the buffer against a plain least-recently-used list."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.placement.row_pages import RowPages, pages_of_rows, runs


@given(
    rows=st.lists(st.integers(0, 50), min_size=1, max_size=20),
    lead=st.integers(0, 15),
    row_bytes=st.integers(1, 60),
)
def test_pages_of_rows_are_those_of_their_bytes(rows: list[int], lead: int, row_bytes: int) -> None:
    touched = {
        byte // 16 for row in rows for byte in range(lead + row * row_bytes, lead + (row + 1) * row_bytes)
    }
    assert pages_of_rows(np.array(rows, np.int32), lead, row_bytes, 16).tolist() == sorted(touched)


def test_rows_far_into_a_large_table_do_not_overflow() -> None:
    rows = np.array([2**31 - 1], np.int32)
    assert pages_of_rows(rows, 0, 4096, 4096).tolist() == [2**31 - 1]


@given(st.sets(st.integers(0, 40)))
def test_runs_are_gapless_and_complete(pages: set[int]) -> None:
    found = runs(sorted(pages))
    assert [page for first, count in found for page in range(first, first + count)] == sorted(pages)
    ends = [first + count for first, count in found]
    assert all(end < first for end, (first, _) in zip(ends, found[1:], strict=False))


def test_the_longest_unused_page_goes_first() -> None:
    pages = RowPages(3)
    for page in (1, 2, 3):
        assert pages.prepare([page]) == ([page], [])
        pages.complete([page])
        assert pages.end_pass() == []
    assert pages.prepare([1]) == ([], [])  # 2 is the oldest now
    assert pages.prepare([4]) == ([4], [2])


def test_a_pass_keeps_its_own_pages_and_the_buffer_shrinks_after_it() -> None:
    pages = RowPages(3)
    pages.prepare([1, 2])
    pages.complete([1, 2])
    pages.end_pass()
    assert pages.prepare([2, 5, 6, 7]) == ([5, 6, 7], [1])
    pages.complete([5, 6, 7])
    assert pages.prepare([8]) == ([8], [])  # all that is there is of this pass
    pages.complete([8])
    assert len(pages) == 5
    assert pages.end_pass() == [2, 5]
    assert len(pages) == 3


def test_pages_that_did_not_come_are_asked_for_again() -> None:
    pages = RowPages(3)
    assert pages.prepare([1, 2]) == ([1, 2], [])
    assert pages.end_pass() == []
    assert pages.prepare([1, 2]) == ([1, 2], [])


@given(st.lists(st.sets(st.integers(0, 12), min_size=1, max_size=6), max_size=40))
def test_same_pages_as_a_plain_list(passes: list[set[int]]) -> None:
    capacity, pages, order = 4, RowPages(4), []
    for wanted in passes:
        missing, _ = pages.prepare(sorted(wanted))
        assert missing == sorted(wanted - set(order))
        pages.complete(missing)
        hits = [page for page in sorted(wanted) if page in order]
        order = [*(page for page in order if page not in wanted), *hits, *missing]
        pages.end_pass()
        order = order[max(0, len(order) - capacity) :]
        assert len(pages) == len(order)
