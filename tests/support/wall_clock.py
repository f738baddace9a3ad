"""A wall clock that a test turns by hand."""

from __future__ import annotations


class WallClock:
    def __init__(self) -> None:
        self.seconds = 1_800_000_000.0

    def __call__(self) -> float:
        return self.seconds
