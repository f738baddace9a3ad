"""Whatever goes wrong unforeseen ends in one log file, and in one dialog."""

from __future__ import annotations

import faulthandler
import logging
import sys
import threading
from collections.abc import Callable
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

_LARGEST_LOG_BYTES = 1 << 20
_OLD_LOGS = 2
_QT_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}
log = logging.getLogger("emberglass")


class CrashLog:
    """Catches exceptions of all threads, Qt's messages and native crashes, from `install` to `close`.

    `on_first_fault` is called on the thread of the fault, once per run of the program.
    """

    def __init__(self, folder: Path, level: str, on_first_fault: Callable[[str], None]) -> None:
        """Raises OSError if the folder can't be written."""
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "emberglass.log"
        self._on_first_fault = on_first_fault
        self._has_reported = False
        self._handler = RotatingFileHandler(
            self.path, maxBytes=_LARGEST_LOG_BYTES, backupCount=_OLD_LOGS, encoding="utf-8"
        )
        self._handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(threadName)s %(message)s"))
        log.setLevel(level.upper())
        self._crashes = (folder / "crash.log").open("a", encoding="utf-8")
        self._hooks = sys.excepthook, threading.excepthook

    def install(self) -> None:
        """Begin to catch."""
        log.addHandler(self._handler)
        faulthandler.enable(self._crashes)
        sys.excepthook = self._take
        threading.excepthook = self._take_from_thread
        qInstallMessageHandler(self._take_qt_message)

    def close(self) -> None:
        """Put everything back as it was."""
        qInstallMessageHandler(None)
        sys.excepthook, threading.excepthook = self._hooks
        faulthandler.disable()
        log.removeHandler(self._handler)
        self._handler.close()
        self._crashes.close()

    def _take(self, kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            return
        log.critical("unforeseen fault", exc_info=(kind, error, traceback))
        if not self._has_reported:
            self._has_reported = True
            self._on_first_fault(f"{kind.__name__}: {error}")

    def _take_from_thread(self, arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None:
            self._take(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)

    @staticmethod
    def _take_qt_message(kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
        log.log(_QT_LEVELS.get(kind, logging.WARNING), "Qt: %s", message)
