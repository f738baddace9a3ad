"""Numbers as words."""

from __future__ import annotations

import pytest

from app.inspector.figures import (
    milliseconds_text,
    part_text,
    percent_text,
    rate_text,
    seconds_text,
    speed_text,
    unbroken,
)


@pytest.mark.parametrize(
    ("rate", "text"),
    [(1.9e9, "1.9 GB/s"), (350e6, "350 MB/s"), (12_345.0, "12.3 kB/s"), (0.0, "0 B/s"), (None, "n/a")],
)
def test_rates_are_decimal(rate: float | None, text: str) -> None:
    assert rate_text(rate) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.71, "71 %"), (0.0, "0 %"), (0.0004, "0.1 %"), (0.9996, "99.9 %"), (1.0, "100 %"), (None, "n/a"),
     (float("nan"), "n/a")],
)  # fmt: skip
def test_shares_are_never_rounded_to_none_or_all(share: float | None, text: str) -> None:
    assert percent_text(share) == text


def test_a_part_of_a_size_names_the_unit_once() -> None:
    assert part_text(1 << 30, 3 << 30) == "1 of 3 GiB"
    assert part_text(512 << 20, 3 << 30) == "512 MiB of 3 GiB"


def test_times_and_speeds() -> None:
    assert milliseconds_text(4_782_000_000) == "4,782 ms"
    assert milliseconds_text(300_000) == "0.3 ms"
    assert milliseconds_text(0) == "0 ms"
    assert seconds_text(5_000_000_000) == "5 s"
    assert speed_text(61.8) == "61.8 tok/s"
    assert speed_text(None) == "n/a"


def test_a_unit_never_stands_alone_on_a_line() -> None:
    assert unbroken("71 % of the last 5 s (1.9 GB/s, 12 KiB) 3 slots") == (
        "71\u00a0% of the last 5\u00a0s (1.9\u00a0GB\u2060/\u2060s, 12\u00a0KiB) 3 slots"
    )
