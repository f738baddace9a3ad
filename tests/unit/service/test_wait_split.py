"""Which part of a wait was a load; expected values by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.wait_split import LoadSpan, WaitSplit, split_wait

# read from 100 to 160, initialised until 200
LOAD = LoadSpan(start_ns=100, load_ns=60, end_ns=200)


@pytest.mark.parametrize(
    ("queued_ns", "expected"),
    [
        (100, WaitSplit(10, 60, 40)),
        (70, WaitSplit(40, 60, 40)),
        (130, WaitSplit(10, 30, 40)),
        (180, WaitSplit(10, 0, 20)),
        (200, WaitSplit(10, 0, 0)),
        (205, WaitSplit(5, 0, 0)),
    ],
)
def test_parts_of_the_wait(queued_ns: int, expected: WaitSplit) -> None:
    assert split_wait(queued_ns, 210, LOAD) == expected


def test_without_a_load_all_is_queue() -> None:
    assert split_wait(50, 80, None) == WaitSplit(30, 0, 0)


@given(*[st.integers(0, 10_000)] * 4)
def test_parts_add_up_and_are_never_negative(start: int, load_ns: int, rest_ns: int, queued: int) -> None:
    load = LoadSpan(start, load_ns, start + rest_ns)
    started = max(load.end_ns, queued) + 5
    split = split_wait(queued, started, load)
    assert split.queue_ns + split.load_ns + split.initialise_ns == started - queued
    assert min(split.queue_ns, split.load_ns, split.initialise_ns) >= 0
