"""Unforeseen faults of every thread end in the log, and in one report."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import qWarning

from app.crash_log import CrashLog


@pytest.fixture
def reports() -> list[str]:
    return []


@pytest.fixture
def crash_log(tmp_path: Path, reports: list[str]) -> Iterator[CrashLog]:
    log = CrashLog(tmp_path / "logs", "info", reports.append)
    log.install()
    yield log
    log.close()


def raise_fault(words: str) -> None:
    raise ValueError(words)


def test_faults_of_all_threads_are_logged_and_the_first_is_reported(
    crash_log: CrashLog, reports: list[str]
) -> None:
    thread = threading.Thread(target=raise_fault, args=("in a thread",))
    thread.start()
    thread.join()
    try:
        raise_fault("in the window")
    except ValueError as error:
        sys.excepthook(type(error), error, error.__traceback__)
    written = crash_log.path.read_text(encoding="utf-8")
    assert "ValueError: in a thread" in written
    assert "ValueError: in the window" in written
    assert reports == ["ValueError: in a thread"]


def test_qt_messages_are_logged(crash_log: CrashLog) -> None:
    qWarning("a word from Qt")
    assert "WARNING MainThread Qt: a word from Qt" in crash_log.path.read_text(encoding="utf-8")


def test_everything_is_put_back(tmp_path: Path) -> None:
    before = sys.excepthook, threading.excepthook
    log = CrashLog(tmp_path, "info", lambda words: None)
    log.install()
    assert sys.excepthook != before[0]
    log.close()
    assert (sys.excepthook, threading.excepthook) == before
