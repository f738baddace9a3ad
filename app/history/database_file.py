"""The database as files: is it sound, set it aside, restore it, back it up. Never deletes user data."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from app.history.errors import HistoryFileError, HistoryVersionError, means_damage
from app.history.schema import APPLICATION_ID, SCHEMA_STEPS, Statements, missing_parts, stored_version

BACKUP_INTERVAL_SECONDS = 24 * 3600
_SIDECARS = ("-wal", "-shm")


def with_suffix(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def backup_path(path: Path) -> Path:
    return with_suffix(path, ".backup")


def is_absent(path: Path) -> bool:
    """No file, or one of no bytes: what a file system leaves after a crash at creation."""
    return not path.exists() or (path.is_file() and path.stat().st_size == 0)


def has_sidecars(path: Path) -> bool:
    return any(with_suffix(path, suffix).exists() for suffix in _SIDECARS)


def find_damage(path: Path, steps: Sequence[Statements] = SCHEMA_STEPS) -> str:
    """What is wrong with the file, empty if it is sound. Looks at every page, writes nothing.

    About 0.1 s per 100 MB; quick_check takes as long and misses indexes that contradict their table.

    Raises HistoryVersionError for a newer file or another program's, sqlite3.Error if it can't be opened.
    """
    try:
        with closing(_connect_read_only(path)) as connection:
            _refuse_foreign(connection, path, len(steps))
            return _examine(connection, steps)
    except UnicodeDecodeError:
        # raised in place of a sqlite3.Error whose message quotes a broken table definition
        return "malformed database schema"
    except sqlite3.DatabaseError as error:
        if means_damage(error):
            return str(error)
        raise


def set_aside(path: Path) -> Path:
    """Rename the file and its sidecars; returns the new name. SQLite could still read the set."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    aside, attempt = with_suffix(path, f".damaged-{stamp}"), 1
    while aside.exists():
        attempt += 1
        aside = with_suffix(path, f".damaged-{stamp}-{attempt}")
    # the database first: after a crash in between the next start finds it missing and goes on from there
    for suffix in ("", *_SIDECARS):
        if with_suffix(path, suffix).exists():
            with_suffix(path, suffix).replace(with_suffix(aside, suffix))
    return aside


def restore_backup(path: Path) -> None:
    """Put a copy of the backup in place, whole or not at all; the backup stays. Raises OSError."""
    part = with_suffix(path, ".part")
    shutil.copyfile(backup_path(path), part)
    _put_in_place(part, path)


def is_backup_due(path: Path, now_seconds: float) -> bool:
    """A backup dated in the future (the clock was set back) counts as none."""
    backup = backup_path(path)
    if not backup.exists():
        return True
    return not 0 <= now_seconds - backup.stat().st_mtime < BACKUP_INTERVAL_SECONDS


def copy_database(source: sqlite3.Connection, target: Path) -> None:
    """A consistent, self-contained copy, whole or not at all. Raises sqlite3.Error or OSError."""
    part = with_suffix(target, ".part")
    part.unlink(missing_ok=True)
    with closing(sqlite3.connect(part, isolation_level=None)) as copy:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
    _put_in_place(part, target)


def write_backup(source: sqlite3.Connection, own_path: Path, target: Path) -> None:
    """`copy_database` to where the user wants it, except onto our own files. Raises HistoryFileError."""
    fault, next_step = f"The backup {target} couldn’t be written", "Choose another folder or drive."
    if target.name.startswith(own_path.name) and target.resolve().parent == own_path.resolve().parent:
        raise HistoryFileError(f"{fault}: Emberglass keeps its own files under that name.", next_step)
    try:
        copy_database(source, target)
    except sqlite3.ProgrammingError:
        raise
    except (sqlite3.Error, OSError) as error:
        raise HistoryFileError(f"{fault} ({error}).", next_step, repr(error)) from error


def _connect_read_only(path: Path) -> sqlite3.Connection:
    # an ordinary connection would fold the write-ahead log into the file when it closes
    name = path.absolute().as_posix()
    rooted = name if name.startswith("/") else f"/{name}"
    # without a log "immutable" holds, and SQLite leaves no empty log beside a file we refuse
    mode = "mode=ro" if with_suffix(path, "-wal").exists() else "mode=ro&immutable=1"
    return sqlite3.connect(f"file://{quote(rooted, safe='/:')}?{mode}", uri=True, isolation_level=None)


def _refuse_foreign(connection: sqlite3.Connection, path: Path, known_version: int) -> None:
    application_id = int(connection.execute("PRAGMA application_id").fetchone()[0])
    if application_id != APPLICATION_ID and (application_id or not _is_blank(connection)):
        raise HistoryVersionError(
            f"{path} is a database of another program, so it was left untouched.",
            "Move it elsewhere, or choose another data folder, and start Emberglass again.",
            f"application_id {application_id:#x}",
        )
    version = stored_version(connection)
    if version > known_version:
        raise HistoryVersionError(
            "Your conversations were saved by a newer version of Emberglass, so they were left untouched.",
            f"Install the newer version again, or move {path} elsewhere to start with an empty list.",
            f"file version {version}, this program knows up to {known_version}",
        )


def _examine(connection: sqlite3.Connection, steps: Sequence[Statements]) -> str:
    verdict = str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
    if verdict != "ok":
        return verdict
    version = stored_version(connection)
    # blank: the program ended between creating the file and filling it
    if version == 0:
        return "" if _is_blank(connection) else "no version"
    missing = ", ".join(missing_parts(connection, steps[:version]))
    return f"missing: {missing}" if missing else ""


def _is_blank(connection: sqlite3.Connection) -> bool:
    return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def _put_in_place(part: Path, target: Path) -> None:
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    part.replace(target)
