"""Damaged, foreign, old and newer files: nothing is deleted, and the user is told what happened."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from app.history.errors import HistoryDamagedError, HistoryError, HistoryVersionError
from app.history.opening import open_database
from app.history.schema import SCHEMA_STEPS
from app.history.store import HistoryStore
from tests.support.wall_clock import WallClock

OpenStore = Callable[[], HistoryStore]
DAY_SECONDS = 24 * 3600


def fill(store: HistoryStore, title: str = "talk", messages: int = 40) -> None:
    conversation = store.create_conversation(title)
    for number in range(messages):
        store.add_user_message(conversation.id, f"message {number} " + "text " * 100)
    store.close()


def titles(store: HistoryStore) -> list[str]:
    return [each.title for each in store.conversations()]


def names(path: Path, kind: str) -> list[str]:
    return sorted(each.name for each in path.parent.iterdir() if kind in each.name)


def back_up_at(path: Path, seconds: float) -> None:
    """Date the backup by the test's clock instead of the computer's."""
    os.utime(f"{path}.backup", (seconds, seconds))


@pytest.fixture
def backed_up(open_store: OpenStore, path: Path, wall_clock: WallClock) -> Path:
    """A file with one conversation in the backup and a newer one outside of it."""
    fill(open_store(), "in the backup")
    open_store().close()
    back_up_at(path, wall_clock.seconds)
    fill(open_store(), "newer")
    return path


def truncate(data: bytes) -> bytes:
    return data[: len(data) // 2]


def truncate_in_header(data: bytes) -> bytes:
    return data[:60]


def empty(data: bytes) -> bytes:
    return b""


def nul(data: bytes) -> bytes:
    return bytes(64_560)


def nul_tail(data: bytes) -> bytes:
    return data[:8192] + bytes(len(data) - 8192)


def garbage(data: bytes) -> bytes:
    return b"<html>not a database</html>" * 1000


def garbage_behind_header(data: bytes) -> bytes:
    return data[:100] + b"\xa5" * (len(data) - 100)


DAMAGES = [truncate, truncate_in_header, empty, nul, nul_tail, garbage, garbage_behind_header]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_file_gives_way_to_the_backup(
    backed_up: Path, open_store: OpenStore, damage: Callable[[bytes], bytes]
) -> None:
    damaged = damage(backed_up.read_bytes())
    backed_up.write_bytes(damaged)
    store = open_store()
    assert titles(store) == ["in the backup"]
    assert len(store.messages(1)) == 40
    (aside,) = names(backed_up, ".damaged-")
    assert backed_up.with_name(aside).read_bytes() == damaged
    assert f"kept as “{aside}”" in store.opening_note
    assert "The backup of " in store.opening_note
    fill(store, "after")
    reopened = open_store()
    assert (titles(reopened), reopened.opening_note) == (["after", "in the backup"], "")


@pytest.mark.parametrize("damage", [truncate, nul, garbage, garbage_behind_header])
def test_damaged_file_without_a_backup(
    open_store: OpenStore, path: Path, damage: Callable[[bytes], bytes]
) -> None:
    fill(open_store())
    damaged = damage(path.read_bytes())
    path.write_bytes(damaged)
    store = open_store()
    assert titles(store) == []
    assert "no usable backup" in store.opening_note
    (aside,) = names(path, ".damaged-")
    assert path.with_name(aside).read_bytes() == damaged
    fill(store, "goes on")
    assert titles(open_store()) == ["goes on"]


def test_damaged_backup_is_kept_too(backed_up: Path, open_store: OpenStore) -> None:
    backed_up.write_bytes(nul(b""))
    backup = backed_up.with_name("history.db.backup")
    backup.write_bytes(b"broken")
    store = open_store()
    assert (titles(store), "no usable backup" in store.opening_note) == ([], True)
    kept = [each for each in names(backed_up, ".damaged-") if each.startswith("history.db.backup.")]
    assert [backed_up.with_name(each).read_bytes() for each in kept] == [b"broken"]


def test_missing_file_is_restored(backed_up: Path, open_store: OpenStore) -> None:
    backed_up.unlink()
    store = open_store()
    assert titles(store) == ["in the backup"]
    assert store.opening_note.startswith("The conversations file was missing")


def test_stale_log_is_not_applied_to_the_backup(backed_up: Path, open_store: OpenStore) -> None:
    backed_up.write_bytes(nul(b""))
    backed_up.with_name("history.db-wal").write_bytes(b"stale log")
    assert titles(open_store()) == ["in the backup"]
    assert [backed_up.with_name(each).read_bytes() for each in names(backed_up, "-wal") if "dam" in each] == [
        b"stale log"
    ]


def make_newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as raw:
        raw.execute(f"PRAGMA user_version = {len(SCHEMA_STEPS) + 1}")


def test_newer_file_is_refused_untouched(open_store: OpenStore, path: Path) -> None:
    fill(open_store())
    make_newer(path)
    before = path.read_bytes()
    with pytest.raises(HistoryVersionError) as raised:
        open_store()
    assert "newer version of Emberglass" in raised.value.fault
    assert "Install the newer version" in raised.value.next_step
    assert path.read_bytes() == before
    assert names(path, "history.db") == ["history.db", "history.db.lock"]


def test_newer_version_in_the_log_alone_is_seen(open_store: OpenStore, path: Path) -> None:
    fill(open_store())
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA user_version = {len(SCHEMA_STEPS) + 1}")
        before, log = path.read_bytes(), path.with_name("history.db-wal").read_bytes()
        with pytest.raises(HistoryVersionError):
            open_store()
        assert path.read_bytes() == before
        assert path.with_name("history.db-wal").read_bytes() == log != b""


def test_newer_backup_beside_a_damaged_file_moves_nothing(backed_up: Path, open_store: OpenStore) -> None:
    make_newer(backed_up.with_name("history.db.backup"))
    backed_up.write_bytes(nul(b""))
    with pytest.raises(HistoryVersionError):
        open_store()
    assert backed_up.read_bytes() == nul(b"")


def test_database_of_another_program_is_refused_untouched(open_store: OpenStore, path: Path) -> None:
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("CREATE TABLE bookmarks (url TEXT)")
        raw.commit()
    before = path.read_bytes()
    with pytest.raises(HistoryVersionError, match="another program"):
        open_store()
    assert path.read_bytes() == before


def test_database_without_our_tables_is_damaged(open_store: OpenStore, path: Path) -> None:
    fill(open_store())
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("DROP TABLE messages")
    store = open_store()
    assert "missing: message_added, " in store.opening_note


def test_refused_store_gives_the_lock_back(open_store: OpenStore, path: Path) -> None:
    path.mkdir()
    with pytest.raises(HistoryError):
        open_store()
    path.rmdir()
    assert titles(open_store()) == []


def test_backup_at_most_once_a_day(open_store: OpenStore, path: Path, wall_clock: WallClock) -> None:
    backup = path.with_name("history.db.backup")

    def backed_up_titles() -> list[str]:
        with closing(sqlite3.connect(backup)) as raw:
            return [row[0] for row in raw.execute("SELECT title FROM conversations ORDER BY id")]

    fill(open_store(), "one")
    assert not backup.exists()
    open_store().close()
    back_up_at(path, wall_clock.seconds)
    fill(open_store(), "two")
    wall_clock.seconds += DAY_SECONDS - 1
    open_store().close()
    assert backed_up_titles() == ["one"]
    wall_clock.seconds += 1
    open_store().close()
    assert backed_up_titles() == ["one", "two"]
    assert names(path, ".part") == []


def test_backup_from_the_future_is_replaced(open_store: OpenStore, path: Path, wall_clock: WallClock) -> None:
    fill(open_store())
    backup = path.with_name("history.db.backup")
    open_store().close()
    back_up_at(path, wall_clock.seconds + 5 * DAY_SECONDS)
    before = backup.stat().st_mtime
    open_store().close()
    assert backup.stat().st_mtime != before


def test_backup_that_cant_be_written_is_told_and_does_not_stop(open_store: OpenStore, path: Path) -> None:
    fill(open_store())
    path.with_name("history.db.backup.part").mkdir()
    store = open_store()
    assert titles(store) == ["talk"]
    assert "backup of your conversations couldn’t be written" in store.opening_note


NEXT_STEP = ("ALTER TABLE conversations ADD COLUMN colour TEXT DEFAULT 'red'",)


def test_migration_keeps_rows_and_a_copy_of_the_old_file(open_store: OpenStore, path: Path) -> None:
    fill(open_store(), "old")
    connection, note = open_database(path, 0.0, (*SCHEMA_STEPS, NEXT_STEP))
    with closing(connection):
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        assert (version, note) == (len(SCHEMA_STEPS) + 1, "")
        assert connection.execute("SELECT title, colour FROM conversations").fetchall() == [("old", "red")]
    with closing(sqlite3.connect(f"{path}.before-version-{len(SCHEMA_STEPS) + 1}")) as copy:
        assert copy.execute("PRAGMA user_version").fetchone()[0] == len(SCHEMA_STEPS)
        assert copy.execute("SELECT * FROM conversations").fetchone()[1] == "old"
    with pytest.raises(HistoryVersionError):
        open_store()


def test_failed_migration_changes_nothing(open_store: OpenStore, path: Path) -> None:
    fill(open_store(), "old")
    broken = (*NEXT_STEP, "INSERT INTO no_such_table VALUES (1)")
    with pytest.raises(sqlite3.OperationalError, match="no_such_table"):
        open_database(path, 0.0, (*SCHEMA_STEPS, broken))
    assert titles(open_store()) == ["old"]
    with closing(sqlite3.connect(path)) as raw:
        columns = [row[1] for row in raw.execute("PRAGMA table_info(conversations)")]
    assert "colour" not in columns


def test_flipped_bit_in_a_text_stays_readable(open_store: OpenStore, path: Path) -> None:
    store = open_store()
    conversation = store.create_conversation()
    store.add_user_message(conversation.id, "needle stays")
    store.close()
    path.write_bytes(path.read_bytes().replace(b"needle", b"nee\xffle"))
    assert open_store().messages(conversation.id)[0].text == "nee\ufffdle stays"


def damage_search_index(path: Path) -> None:
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("DELETE FROM message_index_data WHERE id > 10")
        raw.commit()


def test_damaged_search_index_is_made_anew_in_use(open_store: OpenStore, path: Path) -> None:
    fill(open_store())
    store = open_store()
    damage_search_index(path)
    with pytest.raises(HistoryDamagedError, match="made anew"):
        store.search("message 3")
    assert [each.message_id for each in store.search("message 39")] == [40]
    assert store.add_user_message(1, "goes on").id == 41


def test_damaged_search_index_costs_no_conversation(open_store: OpenStore, path: Path) -> None:
    store = open_store()
    answer = store.begin_answer(store.create_conversation("talk").id, "m")
    store.save_answer_text(answer.id, "half a word")
    store.close()
    damage_search_index(path)
    reopened = open_store()
    assert titles(reopened) == ["talk"]
    assert [each.text for each in reopened.messages(1)] == ["half a word"]


def test_damaged_characters_do_not_end_a_search(open_store: OpenStore, path: Path) -> None:
    store = open_store()
    conversation = store.create_conversation()
    store.add_user_message(conversation.id, "needle here")
    store.add_user_message(conversation.id, "also here")
    store.close()
    path.write_bytes(path.read_bytes().replace(b"needle here", b"nee\xffle here"))
    assert [each.excerpt for each in open_store().search("he")] == ["also here", "nee\ufffdle here"]


def test_broken_table_definition_is_damage(open_store: OpenStore, path: Path) -> None:
    """SQLite quotes the broken words in its message, which Python then can't decode."""
    fill(open_store())
    path.write_bytes(path.read_bytes().replace(b"CREATE INDEX conv", b"CREATE IND\xf3X conv"))
    assert "conversations file was damaged" in open_store().opening_note
