"""Tests of the window need no screen; a simulated engine answers."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import pytest
from pytestqt.qtbot import QtBot

from engine.backends.base import InferenceBackend
from tests.support.running_window import OpenWindow, RunningWindow, quick_backend


def pytest_runtest_logfinish() -> None:
    """A window's garbage is collected here: the engine thread of a later test must not find it first.

    What is left then stays, so that the next time only new objects are walked.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def garbage_in_this_thread() -> Iterator[None]:
    """As in the program (app/gui_collector.py): an engine thread that collected would delete widgets."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def open_window(qtbot: QtBot, tmp_path: Path) -> Iterator[OpenWindow]:
    """Opens windows of one data folder and closes them, engine and store included, after the test."""
    opened: list[RunningWindow] = []

    def open_one(factory: Callable[[], InferenceBackend] = quick_backend) -> RunningWindow:
        opened.append(RunningWindow(qtbot, tmp_path, factory))
        return opened[-1]

    yield open_one
    for window in opened:
        window.close()
