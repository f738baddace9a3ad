"""Ctrl+C as a count that can be polled, so that an answer is stopped between events and none gets lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType


class StopSignal:
    """While entered on the main thread, SIGINT only counts; elsewhere it never counts.

    `on_stop` is called at each; it must return at once.
    """

    def __init__(self, on_stop: Callable[[], None] = lambda: None) -> None:
        self.count = 0
        self._on_stop = on_stop
        self._before: signal.Handlers | object = None
        self._is_installed = False

    def __enter__(self) -> StopSignal:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
            self._is_installed = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._is_installed:
            signal.signal(signal.SIGINT, self._before)  # type: ignore[arg-type] # what signal() returned
            self._is_installed = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        self._on_stop()
