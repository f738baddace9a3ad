"""SIGINT and SIGTERM reach the event loop: the first saves and quits, the second ends at once."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from types import FrameType

from PySide6.QtCore import QObject, QSocketNotifier

INTERRUPTED_EXIT_CODE = 130
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class QuitSignals(QObject):
    """Calls `on_quit` with the exit code in the GUI thread: 130 for SIGINT, 0 for SIGTERM."""

    def __init__(self, on_quit: Callable[[int], None]) -> None:
        super().__init__()
        self._on_quit = on_quit
        self._has_asked = False
        # Python runs handlers only between bytecodes, and Qt's loop has none: a byte wakes it up
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        self._notifier = QSocketNotifier(self._reader.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._take)
        self._old_descriptor = signal.set_wakeup_fd(self._writer.fileno())
        self._old_handlers = {number: signal.signal(number, self._handle) for number in _SIGNALS}

    def close(self) -> None:
        """Give the signals back."""
        self._notifier.setEnabled(False)
        signal.set_wakeup_fd(self._old_descriptor)
        for number, handler in self._old_handlers.items():
            signal.signal(number, handler)
        self._reader.close()
        self._writer.close()

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self._has_asked:
            os._exit(128 + number)
        self._has_asked = True

    def _take(self) -> None:
        for number in self._reader.recv(64):
            if number in _SIGNALS:
                self._on_quit(INTERRUPTED_EXIT_CODE if number == signal.SIGINT else 0)
