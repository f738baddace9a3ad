"""How long a stop waits for a peer's answer: a program that hangs can't be told from one that computes.

While nobody wants to stop, an answer may take as long as it likes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE_SECONDS = 10.0


class StopPatience:
    """`asking` is for the thread that asks the peer, `is_over` for the one that watches.

    `is_stopping` may be set and is called by any thread.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.is_stopping: Callable[[], bool] = lambda: False
        self._clock = clock
        self._asked_at: float | None = None
        self._stopping_since: float | None = None

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Within the block the peer is waited for."""
        self._asked_at = self._clock()
        try:
            yield
        finally:
            self._asked_at = None

    def is_over(self) -> bool:
        """Whether a stop and an answer have both been waited for too long; look often."""
        if not self.is_stopping():
            self._stopping_since = None
            return False
        now, asked_at = self._clock(), self._asked_at
        if self._stopping_since is None:
            self._stopping_since = now
        if asked_at is None:
            return False
        return now - max(asked_at, self._stopping_since) > PATIENCE_SECONDS
