"""Every fault of the conversation store, in words a user can act on."""

from __future__ import annotations

import errno
import sqlite3


class HistoryError(Exception):
    """Base of all faults of the store: what happened, what to do next, technical detail."""

    def __init__(self, fault: str, next_step: str = "", detail: str = "") -> None:
        super().__init__(f"{fault} {next_step}".strip())
        self.fault = fault
        self.next_step = next_step
        self.detail = detail

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.fault, self.next_step, self.detail)


class HistoryBusyError(HistoryError):
    """Another process holds the store, or another program locks its file."""


class HistoryVersionError(HistoryError):
    """The file was written by a newer version, or by another program; it was left untouched."""


class HistoryDiskFullError(HistoryError):
    """The disk has no room; nothing that was saved before is lost."""


class HistoryFileError(HistoryError):
    """The file can't be read or written (permissions, a missing drive, a failing disk)."""


class HistoryDamagedError(HistoryError):
    """The file turned out to be damaged while it was in use."""


class HistoryMissingError(HistoryError):
    """The conversation or message doesn't exist, or the answer has already ended."""


class HistoryNameError(HistoryError):
    """A name is empty or taken."""


class HistoryImportError(HistoryError):
    """The text is no export of conversations, or a faulty one; nothing was imported."""


_DAMAGE_CODES = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT})
_LOCK_CODES = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's primary result code; 1 (SQLITE_ERROR) where Python reports none."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def means_damage(error: sqlite3.Error) -> bool:
    return primary_code(error) in _DAMAGE_CODES


def is_index_damage(error: BaseException) -> bool:
    """Only the search index is damaged; it can be made anew from the messages."""
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_CORRUPT_VTAB


def _code_of(error: sqlite3.Error | OSError | UnicodeDecodeError) -> int:
    if isinstance(error, sqlite3.Error):
        return primary_code(error)
    if isinstance(error, UnicodeDecodeError):
        return sqlite3.SQLITE_CORRUPT
    return sqlite3.SQLITE_FULL if error.errno in (errno.ENOSPC, errno.EDQUOT) else sqlite3.SQLITE_IOERR


def history_error(error: sqlite3.Error | OSError | UnicodeDecodeError, place: str) -> HistoryError:
    """The fault in words; `place` is the file as the user should see it.

    A UnicodeDecodeError is what Python raises when SQLite's own message quotes damaged bytes.
    """
    code = _code_of(error)
    detail = f"{type(error).__name__}: {error}"
    if code == sqlite3.SQLITE_FULL:
        return HistoryDiskFullError(
            "There is no room left on the disk to save your conversations.",
            f"Free some space on the disk that holds {place}; saving is tried again by itself.",
            detail,
        )
    if code in _LOCK_CODES:
        return HistoryBusyError(
            f"Another program has locked {place}.",
            "Close it (a backup, a database viewer, a virus scanner); saving is tried again by itself.",
            detail,
        )
    if code in _DAMAGE_CODES:
        return HistoryDamagedError(
            f"The conversations file {place} is damaged.",
            "Restart Emberglass: it sets the damaged file aside and opens the last good backup.",
            detail,
        )
    return HistoryFileError(
        f"The conversations file {place} can’t be read or written ({error}).",
        "Check that its folder exists, that you may write there, and that the drive is connected.",
        detail,
    )
