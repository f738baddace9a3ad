"""How the store comes up: a sound file opens, a damaged one gives way to the last good backup."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from app.history.database_file import (
    backup_path,
    copy_database,
    find_damage,
    has_sidecars,
    is_absent,
    is_backup_due,
    restore_backup,
    set_aside,
    with_suffix,
)
from app.history.errors import is_index_damage, means_damage
from app.history.schema import SCHEMA_STEPS, Statements, migrate, stored_version
from app.history.search import rebuild_index

_LOCK_WAIT_SECONDS = 0.2  # the GUI thread waits here while another program locks the file
_KEEP_DELETED_SECONDS = 30 * 24 * 3600


def open_database(
    path: Path, now_seconds: float, steps: Sequence[Statements] = SCHEMA_STEPS
) -> tuple[sqlite3.Connection, str]:
    """A connection in autocommit mode, and a note for the user if anything unusual happened.

    The caller holds the process lock. Raises HistoryVersionError (file untouched), sqlite3.Error, OSError.
    """
    note = _make_sound(path, steps)
    try:
        connection, warning = _connect(path, now_seconds, steps)
    except sqlite3.DatabaseError as error:
        if not means_damage(error):
            raise
        # damage that only a write runs into
        note = _recover(path, _damaged(str(error)), steps)
        connection, warning = _connect(path, now_seconds, steps)
    return connection, f"{note} {warning}".strip()


def _make_sound(path: Path, steps: Sequence[Statements]) -> str:
    if is_absent(path):
        if backup_path(path).exists():
            return _recover(path, "The conversations file was missing or empty.", steps)
        if has_sidecars(path):
            set_aside(path)
        return ""
    damage = find_damage(path, steps)
    return _recover(path, _damaged(damage), steps) if damage else ""


def _damaged(detail: str) -> str:
    return f"The conversations file was damaged ({detail})."


def _recover(path: Path, cause: str, steps: Sequence[Statements]) -> str:
    # looked at before anything moves: a backup from a newer version refuses with all files in place
    backup = backup_path(path)
    is_backup_sound = backup.exists() and not find_damage(backup, steps)
    aside = set_aside(path)
    kept = f" The old file was kept as “{aside.name}”." if aside.exists() else ""
    if is_backup_sound:
        saved_at = time.strftime("%Y-%m-%d %H:%M", time.localtime(backup.stat().st_mtime))
        restore_backup(path)
        return f"{cause} The backup of {saved_at} was opened; anything newer is not in it.{kept}"
    if backup.exists():
        # a later backup must not overwrite it
        set_aside(backup)
    return f"{cause} There was no usable backup, so the list of conversations starts empty.{kept}"


def _connect(path: Path, now_seconds: float, steps: Sequence[Statements]) -> tuple[sqlite3.Connection, str]:
    connection = sqlite3.connect(path, timeout=_LOCK_WAIT_SECONDS, isolation_level=None)
    try:
        _configure(connection)
        is_new = stored_version(connection) == 0
        _migrate_with_copy(connection, path, steps)
        _begin_session(connection, now_seconds)
        return connection, "" if is_new else _back_up_if_due(connection, path, now_seconds)
    except BaseException:
        connection.close()
        raise


def _configure(connection: sqlite3.Connection) -> None:
    # a damaged character in a text must not make its conversation unreadable
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON", "fullfsync = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _migrate_with_copy(connection: sqlite3.Connection, path: Path, steps: Sequence[Statements]) -> None:
    if 0 < stored_version(connection) < len(steps):
        copy_database(connection, with_suffix(path, f".before-version-{len(steps)}"))
    migrate(connection, steps)


def _begin_session(connection: sqlite3.Connection, now_seconds: float) -> None:
    try:
        _end_old_session(connection, now_seconds)
    except sqlite3.DatabaseError as error:
        if not is_index_damage(error):
            raise
        rebuild_index(connection)
        _end_old_session(connection, now_seconds)


def _end_old_session(connection: sqlite3.Connection, now_seconds: float) -> None:
    """No answer streams yet, so one that seems to was cut off; what was deleted long ago goes for good."""
    connection.execute("UPDATE messages SET status = 'interrupted' WHERE status = 'streaming'")
    oldest = now_seconds - _KEEP_DELETED_SECONDS
    connection.execute("DELETE FROM conversations WHERE deleted_at < ?", (oldest,))
    connection.execute("DELETE FROM messages WHERE deleted_at < ?", (oldest,))


def _back_up_if_due(connection: sqlite3.Connection, path: Path, now_seconds: float) -> str:
    if not is_backup_due(path, now_seconds):
        return ""
    try:
        copy_database(connection, backup_path(path))
    except (sqlite3.Error, OSError) as error:
        return f"Today’s backup of your conversations couldn’t be written ({error})."
    return ""
