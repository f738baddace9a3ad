"""How much memory may be locked: the limit, what is locked already, and the right to ignore both."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.hardware.memory import lockable_bytes


@pytest.fixture
def soft_limit() -> Iterator[int]:
    """64 KiB, for this process and test only."""
    before = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (64 << 10, before[1]))
    yield 64 << 10
    resource.setrlimit(resource.RLIMIT_MEMLOCK, before)


def status(tmp_path: Path, locked_kib: int, capabilities: str) -> Path:
    path = tmp_path / "status"
    path.write_text(f"Name:\tx\nVmLck:\t{locked_kib:8} kB\nCapEff:\t{capabilities}\n", encoding="ascii")
    return path


def test_what_is_locked_counts_against_the_limit(tmp_path: Path, soft_limit: int) -> None:
    assert lockable_bytes(status(tmp_path, 0, "0000000000000000")) == soft_limit
    assert lockable_bytes(status(tmp_path, 24, "0000000000000000")) == 40 << 10
    assert lockable_bytes(status(tmp_path, 99, "0000000000000000")) == 0


def test_the_right_to_lock_knows_no_limit(tmp_path: Path, soft_limit: int) -> None:
    # bit 14 is CAP_IPC_LOCK (capabilities(7)); bit 15 is CAP_IPC_OWNER
    assert lockable_bytes(status(tmp_path, 0, "0000000000004000")) is None
    assert lockable_bytes(status(tmp_path, 0, "0000000000008000")) == soft_limit


def test_where_nothing_is_known_nothing_may_be_locked(tmp_path: Path) -> None:
    assert lockable_bytes(tmp_path / "missing") == 0
