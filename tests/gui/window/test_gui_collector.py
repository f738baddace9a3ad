"""Garbage is collected by the GUI thread alone, and all of it only in quiet moments."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from app.gui_collector import GuiCollector


class Ring:
    """Only a collection frees it."""

    def __init__(self, freed_in: list[str]) -> None:
        self.itself = self
        weakref.finalize(self, lambda: freed_in.append(threading.current_thread().name))


class Busy:
    """Whether something moves on the screen."""

    is_busy = False


@pytest.fixture
def busy() -> Busy:
    return Busy()


@pytest.fixture
def collector(qtbot: QtBot, busy: Busy) -> Iterator[GuiCollector]:
    made = GuiCollector(lambda: busy.is_busy)
    yield made
    made.close()


def test_another_thread_frees_nothing(collector: GuiCollector) -> None:
    freed_in: list[str] = []
    Ring(freed_in)
    thread = threading.Thread(target=lambda: [[number] for number in range(200_000)], name="other")
    thread.start()
    thread.join()
    assert freed_in == []
    for _ in range(10):
        collector.step()
    assert freed_in == [threading.current_thread().name]


def old_ring(freed_in: list[str]) -> None:
    """One that has outlived the younger collections."""
    ring = Ring(freed_in)
    gc.collect(0)
    gc.collect(1)
    del ring


def test_what_is_old_waits_for_a_quiet_moment(collector: GuiCollector, busy: Busy) -> None:
    freed_in: list[str] = []
    old_ring(freed_in)
    busy.is_busy = True
    for _ in range(300):
        collector.step()
    assert freed_in == []
    busy.is_busy = False
    collector.step()
    assert freed_in == [threading.current_thread().name]


def test_closing_gives_it_back_to_python(qtbot: QtBot) -> None:
    collector = GuiCollector(lambda: False)
    assert not gc.isenabled()
    collector.close()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
