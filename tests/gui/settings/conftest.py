"""A store of its own for every test of the settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.history.store import HistoryStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[HistoryStore]:
    opened = HistoryStore(tmp_path / "conversations.sqlite3")
    yield opened
    opened.close()
