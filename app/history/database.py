"""The open conversations file: one lock, one connection, all-or-nothing changes, faults in words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.history.errors import HistoryDamagedError, HistoryMissingError, history_error, is_index_damage
from app.history.opening import open_database
from app.history.process_lock import ProcessLock
from app.history.search import rebuild_index, register_search


class Database:
    """Made and used by one thread. Raises HistoryError subclasses wherever SQLite or the disk fails."""

    def __init__(self, path: Path, now_seconds: float) -> None:
        self.path = path
        with self.in_words():
            path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = ProcessLock(path.with_name(path.name + ".lock"))
        try:
            with self.in_words():
                self.connection, self.opening_note = open_database(path, now_seconds)
        except BaseException:
            self._lock.close()
            raise
        register_search(self.connection)

    def close(self) -> None:
        """Fold the log into the file and give the lock back; may be called twice."""
        self.connection.close()
        self._lock.close()

    @contextmanager
    def transaction(self, is_durable: bool = False) -> Iterator[sqlite3.Connection]:
        """All or nothing; durable ones wait until the disk has them."""
        with self.in_words():
            # SQLite ignores a change of this setting inside a transaction
            self.connection.execute(f"PRAGMA synchronous = {'FULL' if is_durable else 'NORMAL'}")
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                # SQLite has rolled back by itself after some faults, a full disk among them
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    @contextmanager
    def in_words(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.ProgrammingError:
            # a wrong thread or a closed store: a fault of the program, not of the file
            raise
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
            if is_index_damage(error):
                raise self._mended_index(error) from error
            raise history_error(error, str(self.path)) from error

    def _mended_index(self, error: BaseException) -> HistoryDamagedError:
        with self.in_words():
            rebuild_index(self.connection)
        return HistoryDamagedError(
            "The search index of your conversations was damaged.",
            "It has been made anew from the conversations; try again.",
            str(error),
        )


def require_row(cursor: sqlite3.Cursor, fault: str, next_step: str) -> None:
    """Raises HistoryMissingError if the statement changed nothing."""
    if cursor.rowcount == 0:
        raise HistoryMissingError(fault, next_step)


def new_id(cursor: sqlite3.Cursor) -> int:
    """The row id of an INSERT that has just run."""
    if cursor.lastrowid is None:
        raise AssertionError("an INSERT has a row id")
    return cursor.lastrowid


def storable(text: str) -> str:
    """Half of a surrogate pair (a cut emoji) has no UTF-8 form."""
    return text.encode("utf-8", "replace").decode("utf-8")
