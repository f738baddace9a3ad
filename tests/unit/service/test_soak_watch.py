"""What counts as a leak in the long soak."""

from __future__ import annotations

from tests.support.soak_watch import Change, Vitals, broken_limits, change

HOUR = 3600.0


def looks(*rows: tuple[float, float, int, int]) -> list[Vitals]:
    return [Vitals(share * HOUR, int(mb * 1e6), threads, files) for share, mb, threads, files in rows]


def test_caches_may_fill_in_the_first_tenth() -> None:
    run = looks((0.01, 40, 3, 8), (0.12, 100, 3, 8), (0.18, 110, 3, 8), (0.5, 300, 9, 20), (0.95, 150, 3, 8))
    assert change(run, lambda v: v.private_bytes, HOUR) == Change(105e6, 150e6, 300_000_000)
    assert broken_limits(run, HOUR) == []


def test_memory_may_grow_by_50_mb_and_no_more() -> None:
    run = looks((0.15, 100, 3, 8), (0.92, 150, 3, 8), (0.95, 151, 3, 8), (0.99, 900, 3, 8))
    assert broken_limits(run, HOUR) == ["private memory grew by 51.0 MB"]


def test_one_thread_or_descriptor_is_too_much() -> None:
    run = looks((0.15, 100, 3, 8), (0.95, 100, 4, 9))
    assert broken_limits(run, HOUR) == [
        "threads after an unload grew from 3 to 4",
        "open descriptors grew from 8 to 9",
    ]


def test_a_soak_that_never_looked_is_no_success() -> None:
    assert broken_limits([], HOUR) == ["nothing was ever unloaded"]
