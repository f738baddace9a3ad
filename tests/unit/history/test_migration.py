"""A file written by version 1 of the program opens with everything it had."""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from app.history.errors import HistoryError
from app.history.store import HistoryStore
from tests.support.wall_clock import WallClock

OpenStore = Callable[[], HistoryStore]
VERSION_1 = Path(__file__).with_name("files") / "version-1.sqlite3.gz"
WRITTEN_AT_SECONDS = 1_750_000_000.0


@pytest.fixture
def old(path: Path, wall_clock: WallClock) -> bytes:
    wall_clock.seconds = WRITTEN_AT_SECONDS + 3600
    path.write_bytes(gzip.decompress(VERSION_1.read_bytes()))
    return path.read_bytes()


def test_messages_become_one_chain(old: bytes, open_store: OpenStore) -> None:
    store = open_store()
    assert store.opening_note == ""
    assert [(each.title, each.leaf_id) for each in store.conversations()] == [
        ("empty", None),
        ("旅行の計画", 5),
        ("second", 3),
    ]
    messages = store.messages(1)
    assert [(each.id, each.parent_id, each.sibling_ids) for each in messages] == [
        (1, None, (1,)),
        (2, 1, (2,)),
        (4, 2, (4,)),
        (5, 4, (5,)),
    ]
    assert [each.text for each in messages] == [
        "京都で何を見ればいい？",
        "清水寺 and the market.",
        "And then?",
        "Half an ans",
    ]
    assert (messages[1].stats, messages[3].status, messages[3].is_partial) == (
        {"tokens": 7},
        "interrupted",
        True,
    )
    assert [each.message_id for each in store.search("清水")] == [2]
    assert store.add_user_message(1, "goes on").parent_id == 5


def test_nothing_is_pinned_filed_or_set(old: bytes, open_store: OpenStore) -> None:
    store = open_store()
    assert [(each.is_pinned, each.folder) for each in store.conversations()] == [(False, "")] * 3
    assert (store.folders(), store.presets(), store.draft(1), store.preset_of(1)) == ([], [], "", None)


def test_deleted_conversation_comes_back_after_the_migration(old: bytes, open_store: OpenStore) -> None:
    store = open_store()
    store.restore(3)
    assert [each.text for each in store.messages(3)] == ["secret"]


def test_a_copy_of_the_old_file_is_made_before(old: bytes, open_store: OpenStore, path: Path) -> None:
    open_store().close()
    with closing(sqlite3.connect(f"{path}.before-version-2")) as copy:
        assert copy.execute("PRAGMA user_version").fetchone() == (1,)
        assert copy.execute("SELECT count(*) FROM messages").fetchone() == (6,)
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_copy_that_cannot_be_written_keeps_the_old_file(
    old: bytes, open_store: OpenStore, path: Path
) -> None:
    path.with_name(f"{path.name}.before-version-2.part").mkdir()
    with pytest.raises(HistoryError, match="read or written"):
        open_store()
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("PRAGMA user_version").fetchone() == (1,)


def test_tables_are_those_of_a_new_file(
    old: bytes, open_store: OpenStore, path: Path, tmp_path: Path
) -> None:
    open_store().close()
    fresh = tmp_path / "fresh.db"
    HistoryStore(fresh).close()
    shapes = []
    for each in (path, fresh):
        with closing(sqlite3.connect(each)) as raw:
            shapes.append(set(raw.execute("SELECT name, sql FROM sqlite_master")))
            assert raw.execute("PRAGMA foreign_key_check").fetchall() == []
    assert shapes[0] == shapes[1]
