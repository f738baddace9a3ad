"""A conversations file of its own for each test, with a wall clock the test turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from app.history.store import HistoryStore
from tests.support.wall_clock import WallClock


@pytest.fixture
def wall_clock() -> WallClock:
    return WallClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


@pytest.fixture
def open_store(path: Path, wall_clock: WallClock) -> Iterator[Callable[[], HistoryStore]]:
    """Opens the store at `path`; whatever the test leaves open is closed."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(closing(HistoryStore(path, wall_clock)))


@pytest.fixture
def store(open_store: Callable[[], HistoryStore]) -> HistoryStore:
    return open_store()
