"""Conversations on disk: what the user wrote is safe before the model starts, answers while they stream."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from app.history.errors import HistoryDamagedError, HistoryMissingError, history_error, is_index_damage
from app.history.opening import open_database
from app.history.process_lock import ProcessLock
from app.history.records import COMPLETE, FINAL_STATUSES, STREAMING, Conversation, Message, SearchHit
from app.history.search import find, rebuild_index, register_search

_CONVERSATIONS = "SELECT id, title, created_at, updated_at, model_name FROM conversations"
_MESSAGES = "SELECT id, conversation_id, role, text, status, created_at, stats, model_name FROM messages"


class HistoryStore:
    """The only owner of the conversations file. One thread uses it, the one that made it: the GUI thread
    (a save takes about 0.1 ms, a durable one as long as the disk needs to flush).

    Opening takes the process lock, replaces a damaged file by the last good backup, migrates an old one,
    marks answers of a crashed session as interrupted and purges conversations deleted over 30 days ago.
    `opening_note` says in words what was unusual, empty if nothing was.
    Every method raises HistoryError subclasses; after one, what was saved before is still there.
    """

    def __init__(self, path: Path, wall_clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._wall_clock = wall_clock
        with self._in_words():
            path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = ProcessLock(path.with_name(path.name + ".lock"))
        try:
            with self._in_words():
                self._connection, self.opening_note = open_database(path, wall_clock())
        except BaseException:
            self._lock.close()
            raise
        register_search(self._connection)

    def close(self) -> None:
        """Fold the log into the file and give the lock back; may be called twice."""
        self._connection.close()
        self._lock.close()

    def create_conversation(self, title: str = "") -> Conversation:
        now = self._wall_clock()
        with self._transaction():
            cursor = self._connection.execute(
                "INSERT INTO conversations (title, created_at, updated_at) VALUES (?, ?, ?)",
                (_storable(title), now, now),
            )
        return Conversation(_new_id(cursor), _storable(title), now, now, "")

    def conversations(self) -> list[Conversation]:
        """All that aren't deleted, the one with the latest message first."""
        with self._in_words():
            rows = self._connection.execute(
                f"{_CONVERSATIONS} WHERE deleted_at IS NULL ORDER BY updated_at DESC, id DESC"
            ).fetchall()
        return [Conversation(*row) for row in rows]

    def rename(self, conversation_id: int, title: str) -> None:
        self._change_conversation("title = ?", (_storable(title),), conversation_id)

    def delete(self, conversation_id: int) -> None:
        """Hide it; `restore` brings it back, 30 days later it is purged at a start."""
        self._change_conversation("deleted_at = ?", (self._wall_clock(),), conversation_id)

    def restore(self, conversation_id: int) -> None:
        self._change_conversation("deleted_at = ?", (None,), conversation_id)

    def messages(self, conversation_id: int) -> list[Message]:
        """In the order they were added; empty for an unknown conversation."""
        with self._in_words():
            rows = self._connection.execute(
                f"{_MESSAGES} WHERE conversation_id = ? ORDER BY id", (conversation_id,)
            ).fetchall()
        return [_message(row) for row in rows]

    def add_user_message(self, conversation_id: int, text: str) -> Message:
        """On return the text survives a power cut."""
        return self._add(conversation_id, "user", _storable(text), COMPLETE, "")

    def begin_answer(self, conversation_id: int, model_name: str) -> Message:
        """An empty streaming answer, durable on return; an AnswerWriter fills it."""
        return self._add(conversation_id, "assistant", "", STREAMING, _storable(model_name))

    def save_answer_text(self, message_id: int, text: str) -> None:
        """Replace the text of a streaming answer; survives a crash of the program from then on."""
        self._change_answer("text = ?", (_storable(text),), message_id)

    def finish_answer(
        self, message_id: int, text: str, status: str, stats: Mapping[str, object] | None = None
    ) -> None:
        """End a streaming answer as complete, stopped, failed or interrupted.

        `stats` come back as JSON gives them; a value JSON can't hold comes back as its text.
        """
        if status not in FINAL_STATUSES:
            raise ValueError(f"an answer can't end as {status!r}")
        values = (_storable(text), status, None if stats is None else json.dumps(dict(stats), default=str))
        self._change_answer("text = ?, status = ?, stats = ?", values, message_id)

    def search(self, text: str) -> list[SearchHit]:
        """Titles and messages that contain every word of `text`, taken literally, whatever its case."""
        with self._in_words():
            return find(self._connection, text)

    def _add(self, conversation_id: int, role: str, text: str, status: str, model_name: str) -> Message:
        now = self._wall_clock()
        with self._transaction(is_durable=True):
            self._touch(conversation_id, now, model_name)
            cursor = self._connection.execute(
                "INSERT INTO messages (conversation_id, role, text, status, model_name, created_at) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (conversation_id, role, text, status, model_name, now),
            )
        return Message(_new_id(cursor), conversation_id, role, text, status, now, None, model_name)

    def _touch(self, conversation_id: int, now: float, model_name: str) -> None:
        cursor = self._connection.execute(
            "UPDATE conversations SET updated_at = ?, model_name = iif(? = '', model_name, ?) WHERE id = ?",
            (now, model_name, model_name, conversation_id),
        )
        _require_row(cursor, "This conversation no longer exists.", "Choose another one, or start a new one.")

    def _change_conversation(self, assignment: str, values: tuple[object, ...], conversation_id: int) -> None:
        with self._transaction():
            cursor = self._connection.execute(
                f"UPDATE conversations SET {assignment} WHERE id = ?", (*values, conversation_id)
            )
            _require_row(
                cursor, "This conversation no longer exists.", "Choose another one, or start a new one."
            )

    def _change_answer(self, assignment: str, values: tuple[object, ...], message_id: int) -> None:
        with self._transaction():
            cursor = self._connection.execute(
                f"UPDATE messages SET {assignment} WHERE id = ? AND status = 'streaming'",
                (*values, message_id),
            )
            _require_row(cursor, "This answer has already ended or was removed.", "Ask again.")

    @contextmanager
    def _transaction(self, is_durable: bool = False) -> Iterator[None]:
        """All or nothing; durable ones wait until the disk has them."""
        with self._in_words():
            # SQLite ignores a change of this setting inside a transaction
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if is_durable else 'NORMAL'}")
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                # SQLite has rolled back by itself after some faults, a full disk among them
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.ProgrammingError:
            # a wrong thread or a closed store: a fault of the program, not of the file
            raise
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
            if is_index_damage(error):
                raise self._mended_index(error) from error
            raise history_error(error, str(self._path)) from error

    def _mended_index(self, error: BaseException) -> HistoryDamagedError:
        with self._in_words():
            rebuild_index(self._connection)
        return HistoryDamagedError(
            "The search index of your conversations was damaged.",
            "It has been made anew from the conversations; try again.",
            str(error),
        )


def _message(row: tuple[Any, ...]) -> Message:
    number, conversation_id, role, text, status, created_at, stats, model_name = row
    return Message(number, conversation_id, role, text, status, created_at, _read_stats(stats), model_name)


def _read_stats(stored: str | None) -> dict[str, object] | None:
    try:
        return None if stored is None else dict(json.loads(stored))
    except ValueError:
        # figures damaged on disk must not take the text with them
        return None


def _require_row(cursor: sqlite3.Cursor, fault: str, next_step: str) -> None:
    if cursor.rowcount == 0:
        raise HistoryMissingError(fault, next_step)


def _new_id(cursor: sqlite3.Cursor) -> int:
    if cursor.lastrowid is None:
        raise AssertionError("an INSERT has a row id")
    return cursor.lastrowid


def _storable(text: str) -> str:
    """Half of a surrogate pair (a cut emoji) has no UTF-8 form."""
    return text.encode("utf-8", "replace").decode("utf-8")
