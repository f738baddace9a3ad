"""The database as files: is it sound, set it aside, restore it, back it up. Never deletes user data."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from app.history.errors import HistoryVersionError, means_damage
from app.history.schema import APPLICATION_ID, REQUIRED_TABLES, SCHEMA_STEPS, stored_version

BACKUP_INTERVAL_SECONDS = 24 * 3600
_SIDECARS = ("-wal", "-shm")


@dataclass(frozen=True, slots=True)
class Examination:
    """What a look at the file found; `damage` is empty for a sound file."""

    version: int = 0
    damage: str = ""


def with_suffix(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def backup_path(path: Path) -> Path:
    return with_suffix(path, ".backup")


def is_absent(path: Path) -> bool:
    """No file, or one of no bytes: what a file system leaves after a crash at creation."""
    return not path.exists() or (path.is_file() and path.stat().st_size == 0)


def has_sidecars(path: Path) -> bool:
    return any(with_suffix(path, suffix).exists() for suffix in _SIDECARS)


def examine(path: Path, known_version: int = len(SCHEMA_STEPS)) -> Examination:
    """Look without writing: version, then every page's structure (about 0.1 s per 100 MB).

    Raises HistoryVersionError for a newer file or another program's, sqlite3.Error if it can't be opened.
    """
    try:
        with closing(_connect_read_only(path)) as connection:
            version = stored_version(connection)
            _refuse_foreign(connection, path, version, known_version)
            return Examination(version, _find_damage(connection))
    except sqlite3.DatabaseError as error:
        if means_damage(error):
            return Examination(damage=str(error))
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


def _connect_read_only(path: Path) -> sqlite3.Connection:
    # an ordinary connection would fold the write-ahead log into the file when it closes
    name = path.absolute().as_posix()
    rooted = name if name.startswith("/") else f"/{name}"
    # without a log "immutable" holds, and SQLite leaves no empty log beside a file we refuse
    mode = "mode=ro" if with_suffix(path, "-wal").exists() else "mode=ro&immutable=1"
    return sqlite3.connect(f"file://{quote(rooted, safe='/:')}?{mode}", uri=True, isolation_level=None)


def _refuse_foreign(connection: sqlite3.Connection, path: Path, version: int, known_version: int) -> None:
    application_id = int(connection.execute("PRAGMA application_id").fetchone()[0])
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if application_id != APPLICATION_ID and (tables or application_id):
        raise HistoryVersionError(
            f"{path} is a database of another program, so it was left untouched.",
            "Move it elsewhere, or choose another data folder, and start Emberglass again.",
            f"application_id {application_id:#x}",
        )
    if version > known_version:
        raise HistoryVersionError(
            "Your conversations were saved by a newer version of Emberglass, so they were left untouched.",
            f"Install the newer version again, or move {path} elsewhere to start with an empty list.",
            f"file version {version}, this program knows up to {known_version}",
        )


def _find_damage(connection: sqlite3.Connection) -> str:
    verdict = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    if verdict != "ok":
        return verdict
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    missing = ", ".join(sorted(REQUIRED_TABLES - names))
    # no tables at all: the program ended between creating the file and filling it
    return f"tables missing: {missing}" if missing and names else ""


def _put_in_place(part: Path, target: Path) -> None:
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    part.replace(target)
