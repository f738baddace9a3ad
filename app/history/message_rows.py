"""Messages on disk: added, streamed, ended, read along a branch."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from app.history.conversation_rows import ConversationRows
from app.history.database import Database, new_id, require_row, storable
from app.history.errors import HistoryMissingError
from app.history.message_tree import MessageTree
from app.history.records import (
    COMPLETE,
    FINAL_STATUSES,
    LEAF,
    STREAMING,
    Attachment,
    Message,
)
from app.history.stored_json import attachments_json, read_attachments, read_stats, stats_json

_COLUMNS = "id, conversation_id, role, text, status, created_at, stats, model_name, parent_id, attachments"
MESSAGE_GONE = ("This message was deleted.", "Choose another one, or undo the deletion.")
_CUT_SHORT = frozenset({"max_tokens", "context_full"})


class MessageRows:
    """Methods as in HistoryStore, which says what they promise."""

    def __init__(self, database: Database, conversations: ConversationRows) -> None:
        self._database = database
        self._conversations = conversations

    def branch(self, conversation_id: int) -> list[Message]:
        connection = self._database.connection
        with self._database.in_words():
            tree = read_tree(connection, conversation_id)
            path = tree.branch(_leaf(connection, conversation_id))
            rows = connection.execute(
                f"SELECT {_COLUMNS} FROM messages WHERE id IN ({sql_numbers(path)}) ORDER BY id"
            ).fetchall()
        return [message_of(row, tree.versions(row[0])) for row in rows]

    def add_user_message(
        self, conversation_id: int, text: str, attachments: Sequence[Attachment], parent_id: int | None
    ) -> Message:
        files = tuple(Attachment(storable(each.name), storable(each.text)) for each in attachments)
        return self._add(conversation_id, "user", storable(text), COMPLETE, "", files, parent_id)

    def begin_answer(self, conversation_id: int, model_name: str, parent_id: int | None) -> Message:
        return self._add(conversation_id, "assistant", "", STREAMING, storable(model_name), (), parent_id)

    def resume_answer(self, message_id: int) -> Message:
        with self._database.transaction(is_durable=True) as connection:
            cursor = connection.execute(
                "UPDATE messages SET status = 'streaming' WHERE id = ? AND role = 'assistant' "
                "AND status <> 'streaming' AND deleted_at IS NULL",
                (message_id,),
            )
            require_row(cursor, "This answer can’t be continued: it is being written or was deleted.", "")
            row = connection.execute(
                f"SELECT {_COLUMNS} FROM messages WHERE id = ?", (message_id,)
            ).fetchone()
            self._conversations.touch(row[1], row[7])
            return message_of(row, _versions(connection, row[1], row[8]))

    def save_text(self, message_id: int, text: str) -> None:
        self._change_answer("text = ?", (storable(text),), message_id)

    def finish(self, message_id: int, text: str, status: str, stats: Mapping[str, object] | None) -> None:
        if status not in FINAL_STATUSES:
            raise ValueError(f"an answer can't end as {status!r}")
        values = (storable(text), status, stats_json(stats))
        self._change_answer("text = ?, status = ?, stats = ?", values, message_id)

    def _change_answer(self, assignment: str, values: tuple[object, ...], message_id: int) -> None:
        with self._database.transaction() as connection:
            cursor = connection.execute(
                f"UPDATE messages SET {assignment} WHERE id = ? AND status = 'streaming'",
                (*values, message_id),
            )
            require_row(cursor, "This answer has already ended or was removed.", "Ask again.")

    def _add(
        self,
        conversation_id: int,
        role: str,
        text: str,
        status: str,
        model_name: str,
        attachments: tuple[Attachment, ...],
        parent_id: int | None,
    ) -> Message:
        with self._database.transaction(is_durable=True) as connection:
            now = self._conversations.touch(conversation_id, model_name)
            parent = _checked_parent(connection, conversation_id, parent_id)
            cursor = connection.execute(
                "INSERT INTO messages (conversation_id, role, text, status, model_name, created_at, "
                "parent_id, attachments) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (conversation_id, role, text, status, model_name, now, parent, attachments_json(attachments)),
            )
            number = new_id(cursor)
            set_leaf(connection, conversation_id, number)
            versions = _versions(connection, conversation_id, parent)
        return Message(
            number, conversation_id, role, text, status, now, None, model_name, parent, versions, attachments
        )


def read_tree(connection: sqlite3.Connection, conversation_id: int) -> MessageTree:
    """All messages that aren't deleted; from the index alone, however long the texts are."""
    return MessageTree(
        connection.execute(
            "SELECT id, parent_id FROM messages WHERE conversation_id = ? AND deleted_at IS NULL",
            (conversation_id,),
        )
    )


def set_leaf(connection: sqlite3.Connection, conversation_id: int, leaf_id: int | None) -> None:
    connection.execute("UPDATE conversations SET leaf_id = ? WHERE id = ?", (leaf_id, conversation_id))


def message_of(row: tuple[Any, ...], versions: tuple[int, ...]) -> Message:
    number, conversation_id, role, text, status, created_at, stored_stats, model_name, parent_id, files = row
    stats = read_stats(stored_stats)
    is_ended_early = status not in (COMPLETE, STREAMING) or (stats or {}).get("reason") in _CUT_SHORT
    is_partial = role == "assistant" and status != STREAMING and bool(text) and is_ended_early
    return Message(
        number, conversation_id, role, text, status, created_at, stats, model_name,
        parent_id, versions, read_attachments(files), is_partial,
    )  # fmt: skip


def _checked_parent(
    connection: sqlite3.Connection, conversation_id: int, parent_id: int | None
) -> int | None:
    if parent_id is None:
        return None
    if parent_id == LEAF:
        return _leaf(connection, conversation_id)
    row = connection.execute(
        "SELECT 1 FROM messages WHERE id = ? AND conversation_id = ? AND deleted_at IS NULL",
        (parent_id, conversation_id),
    ).fetchone()
    if row is None:
        raise HistoryMissingError(*MESSAGE_GONE)
    return parent_id


def _leaf(connection: sqlite3.Connection, conversation_id: int) -> int | None:
    """Where the active branch ends; of a leaf that is gone (a damaged file) the newest branch's end."""
    row = connection.execute(
        "SELECT c.leaf_id, m.id FROM conversations c LEFT JOIN messages m "
        "ON m.id = c.leaf_id AND m.conversation_id = c.id AND m.deleted_at IS NULL WHERE c.id = ?",
        (conversation_id,),
    ).fetchone()
    if row is None or row[0] == row[1]:
        return None if row is None else row[1]
    branch = read_tree(connection, conversation_id).branch(None)
    return branch[-1] if branch else None


def _versions(connection: sqlite3.Connection, conversation_id: int, parent_id: int | None) -> tuple[int, ...]:
    rows = connection.execute(
        "SELECT id FROM messages WHERE conversation_id = ? AND parent_id IS ? AND deleted_at IS NULL "
        "ORDER BY id",
        (conversation_id, parent_id),
    )
    return tuple(row[0] for row in rows)


def sql_numbers(ids: Sequence[int]) -> str:
    """For `IN (…)`: whole numbers only, so nothing to quote, and no limit on their count."""
    return ", ".join(str(int(each)) for each in ids)
