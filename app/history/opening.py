"""How the store comes up: a sound file opens, a damaged one gives way to the last good backup."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from app.history.database_file import (
    backup_path,
    copy_database,
    examine,
    has_sidecars,
    is_absent,
    is_backup_due,
    restore_backup,
    set_aside,
    with_suffix,
)
from app.history.schema import SCHEMA_STEPS, Statements, migrate, stored_version

_LOCK_WAIT_SECONDS = 0.2  # the GUI thread waits here while another program locks the file


def open_database(
    path: Path, now_seconds: float, steps: Sequence[Statements] = SCHEMA_STEPS
) -> tuple[sqlite3.Connection, str]:
    """A connection in autocommit mode, and a note for the user if anything unusual happened.

    The caller holds the process lock. Raises HistoryVersionError (file untouched), sqlite3.Error, OSError.
    """
    note = _make_sound(path, len(steps))
    connection = sqlite3.connect(path, timeout=_LOCK_WAIT_SECONDS, isolation_level=None)
    try:
        _configure(connection)
        return connection, f"{note} {_bring_up(connection, path, now_seconds, steps)}".strip()
    except BaseException:
        connection.close()
        raise


def _make_sound(path: Path, known_version: int) -> str:
    if is_absent(path):
        if backup_path(path).exists():
            return _recover(path, "The conversations file was missing or empty.", known_version)
        if has_sidecars(path):
            set_aside(path)
        return ""
    damage = examine(path, known_version).damage
    if not damage:
        return ""
    return _recover(path, f"The conversations file was damaged ({damage}).", known_version)


def _recover(path: Path, cause: str, known_version: int) -> str:
    # looked at before anything moves: a backup from a newer version refuses with all files in place
    backup = backup_path(path)
    is_backup_sound = backup.exists() and not examine(backup, known_version).damage
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


def _configure(connection: sqlite3.Connection) -> None:
    # a flipped bit in a text must not make its conversation unreadable
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON", "fullfsync = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _bring_up(
    connection: sqlite3.Connection, path: Path, now_seconds: float, steps: Sequence[Statements]
) -> str:
    version = stored_version(connection)
    if 0 < version < len(steps):
        copy_database(connection, with_suffix(path, f".before-version-{len(steps)}"))
    migrate(connection, steps)
    if version == 0 or not is_backup_due(path, now_seconds):
        return ""
    try:
        copy_database(connection, backup_path(path))
    except (sqlite3.Error, OSError) as error:
        return f"Today’s backup of your conversations couldn’t be written ({error})."
    return ""
