"""A clock that only moves when somebody sleeps on it."""

from __future__ import annotations

import threading


class VirtualTime:
    """`clock` in nanoseconds and `sleep` in seconds for code that takes both; no real time passes."""

    def __init__(self) -> None:
        self.now_ns = 1_000_000_000

    def clock(self) -> int:
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now_ns += max(1, round(seconds * 1e9))


class HeldTime(VirtualTime):
    """Virtual time that stands still while held: whoever sleeps then waits until it is released.

    `someone_waits` is set as soon as somebody sleeps on held time, so a test knows that code under test is
    in the middle of a wait.
    """

    def __init__(self) -> None:
        super().__init__()
        self.someone_waits = threading.Event()
        self._moves = threading.Event()
        self._moves.set()

    def hold(self) -> None:
        self.someone_waits.clear()
        self._moves.clear()

    def release(self) -> None:
        self._moves.set()

    def sleep(self, seconds: float) -> None:
        if not self._moves.is_set():
            self.someone_waits.set()
            # returns without progress, so that the sleeper can see a cancel
            self._moves.wait(0.005)
            return
        super().sleep(seconds)
