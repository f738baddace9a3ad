"""A clock that only moves when somebody sleeps on it."""

from __future__ import annotations


class VirtualTime:
    """`clock` in nanoseconds and `sleep` in seconds for code that takes both; no real time passes."""

    def __init__(self) -> None:
        self.now_ns = 1_000_000_000

    def clock(self) -> int:
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now_ns += max(1, round(seconds * 1e9))
