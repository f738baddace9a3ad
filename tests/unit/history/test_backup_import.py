"""A backup brings back what is gone and leaves alone what is there."""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.history.backup_import import import_backup, is_backup
from app.history.errors import HistoryImportError, HistoryVersionError
from app.history.records import ChatSettings
from app.history.store import HistoryStore

VERSION_1 = Path(__file__).with_name("files") / "version-1.sqlite3.gz"


def titles(store: HistoryStore) -> list[str]:
    return [each.title for each in store.conversations()]


@pytest.fixture
def filled(store: HistoryStore) -> Iterator[HistoryStore]:
    for title in ("kept", "changed", "lost"):
        conversation = store.create_conversation(title)
        store.add_user_message(conversation.id, f"words of {title}")
    store.save_preset("Brief", ChatSettings(top_k=1))
    return store


@pytest.fixture
def backup(filled: HistoryStore, tmp_path: Path) -> Path:
    target = tmp_path / "副本.sqlite3"
    filled.backup_to(target)
    return target


def test_only_what_is_missing_or_was_different_is_added(filled: HistoryStore, backup: Path) -> None:
    before = backup.read_bytes()
    filled.rename(1, "kept under another name")
    filled.add_user_message(2, "went on since")
    filled.delete(3)
    added = import_backup(filled, backup)
    assert [each.title for each in filled.conversations() if each.id in added] == ["changed", "lost"]
    assert sorted(titles(filled)) == ["changed", "changed", "kept under another name", "lost"]
    assert [len(filled.messages(each)) for each in (1, 2, *sorted(added))] == [1, 2, 1, 1]
    assert len(filled.presets()) == 1
    assert import_backup(filled, backup) == []
    assert backup.read_bytes() == before


def test_backup_of_an_older_version_is_understood(store: HistoryStore, tmp_path: Path) -> None:
    old = tmp_path / "old.sqlite3"
    old.write_bytes(gzip.decompress(VERSION_1.read_bytes()))
    before = old.read_bytes()
    assert len(import_backup(store, old)) == 3
    assert sorted(titles(store)) == ["empty", "second", "旅行の計画"]
    assert old.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith("old")] == ["old.sqlite3"]


@pytest.mark.parametrize(
    "harm", [lambda data: data[: len(data) // 2], lambda data: b"", lambda data: b"{}" * 9000]
)
def test_damaged_backup_is_refused(
    filled: HistoryStore, backup: Path, harm: Callable[[bytes], bytes]
) -> None:
    backup.write_bytes(harm(backup.read_bytes()))
    with pytest.raises(HistoryImportError, match="is no sound backup"):
        import_backup(filled, backup)
    assert len(titles(filled)) == 3


def test_newer_backup_and_missing_file_are_named(filled: HistoryStore, backup: Path) -> None:
    with closing(sqlite3.connect(backup)) as raw:
        raw.execute("PRAGMA user_version = 99")
    with pytest.raises(HistoryVersionError, match="newer version"):
        import_backup(filled, backup)
    with pytest.raises(HistoryImportError, match="can’t be read"):
        import_backup(filled, backup.with_name("gone.sqlite3"))


def test_databases_are_told_from_text(backup: Path, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    assert (is_backup(backup), is_backup(tmp_path / "x.json")) == (True, False)
