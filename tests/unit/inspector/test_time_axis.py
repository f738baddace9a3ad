"""Zoom, pan and follow without a screen."""

from __future__ import annotations

from app.inspector.time_axis import TimeAxis
from app.inspector.time_range import LEAST_SPAN_NS, TimeRange, range_between

SECOND = 1_000_000_000


def axis_at(newest_seconds: int = 100, oldest_seconds: int = 0) -> TimeAxis:
    axis = TimeAxis(60)
    axis.take(oldest_seconds * SECOND, newest_seconds * SECOND)
    return axis


def seconds(part: TimeRange) -> tuple[float, float]:
    return part.start_ns / SECOND, part.end_ns / SECOND


def test_zoom_keeps_the_anchor_in_place() -> None:
    part = TimeRange(0, 60 * SECOND).zoomed(0.5, 15 * SECOND)
    # a quarter from the left before and after
    assert seconds(part) == (7.5, 37.5)
    assert TimeRange(0, SECOND).zoomed(1e-9, 0).span_ns == LEAST_SPAN_NS


def test_it_follows_until_it_is_moved_into_the_past() -> None:
    axis = axis_at()
    assert seconds(axis.shown) == (40, 100)
    axis.zoom(0.5, 40 * SECOND)  # while following the newest sample is the anchor
    assert seconds(axis.shown) == (70, 100)
    axis.take(0, 101 * SECOND)
    assert seconds(axis.shown) == (71, 101)
    axis.pan(-0.5)
    axis.take(0, 110 * SECOND)
    assert seconds(axis.shown) == (56, 86)
    assert not axis.is_following
    axis.pan(5)
    assert seconds(axis.shown) == (80, 110)
    assert axis.is_following


def test_it_never_leaves_the_samples() -> None:
    axis = axis_at(oldest_seconds=50)
    axis.pan(-100)
    # half of the span still shows samples
    assert seconds(axis.shown) == (20, 80)


def test_fit_and_last_and_another_run() -> None:
    axis = axis_at()
    axis.fit_selection()
    assert seconds(axis.shown) == (40, 100)
    axis.selection = range_between(70 * SECOND, 50 * SECOND)
    axis.fit_selection()
    assert seconds(axis.shown) == (50, 70)
    axis.show_last(300)
    assert seconds(axis.shown) == (-200, 100)
    assert axis.is_following
    axis.follow(False)
    axis.take(0, 9 * SECOND)
    assert axis.selection is None
    assert axis.shown.end_ns == 9 * SECOND
