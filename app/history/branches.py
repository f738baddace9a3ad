"""Which version is shown, and taking messages away and back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from app.history.database import Database
from app.history.errors import HistoryMissingError
from app.history.message_rows import MESSAGE_GONE, read_tree, set_leaf, sql_numbers
from app.history.message_tree import MessageTree


@dataclass(frozen=True, slots=True)
class _Place:
    conversation_id: int
    leaf_id: int | None
    tree: MessageTree


class Branches:
    """Methods as in HistoryStore, which says what they promise."""

    def __init__(self, database: Database, wall_clock: Callable[[], float]) -> None:
        self._database = database
        self._wall_clock = wall_clock

    def choose_version(self, message_id: int) -> None:
        with self._database.transaction() as connection:
            place = _place(connection, message_id)
            if message_id not in place.tree.branch(place.leaf_id):
                set_leaf(connection, place.conversation_id, place.tree.newest_leaf(message_id))

    def delete_message(self, message_id: int) -> None:
        with self._database.transaction() as connection:
            place = _place(connection, message_id)
            gone = place.tree.below(message_id)
            connection.execute(
                f"UPDATE messages SET deleted_at = ?, deleted_with = ? WHERE id IN ({sql_numbers(gone)})",
                (self._wall_clock(), message_id),
            )
            branch = place.tree.branch(place.leaf_id)
            if message_id in branch:
                connection.execute(
                    "UPDATE messages SET leaf_before_deletion = ? WHERE id = ?", (branch[-1], message_id)
                )
                set_leaf(connection, place.conversation_id, place.tree.leaf_without(message_id))

    def restore_message(self, message_id: int) -> None:
        with self._database.transaction() as connection:
            row = connection.execute(
                "SELECT conversation_id, parent_id, leaf_before_deletion FROM messages "
                "WHERE id = ? AND deleted_with = id",
                (message_id,),
            ).fetchone()
            if row is None:
                raise HistoryMissingError("This message can’t be brought back: it isn’t deleted.")
            conversation_id, parent_id, leaf_id = row
            if parent_id is not None and parent_id not in read_tree(connection, conversation_id):
                raise HistoryMissingError(
                    "The message before this one is deleted too.", "Bring that one back first."
                )
            connection.execute(
                "UPDATE messages SET deleted_at = NULL, deleted_with = NULL, leaf_before_deletion = NULL "
                "WHERE deleted_with = ?",
                (message_id,),
            )
            # it was hidden already: the branch shown now may have grown since
            if leaf_id is not None:
                set_leaf(connection, conversation_id, leaf_id)


def _place(connection: sqlite3.Connection, message_id: int) -> _Place:
    row = connection.execute(
        "SELECT c.id, c.leaf_id FROM messages m JOIN conversations c ON c.id = m.conversation_id "
        "WHERE m.id = ? AND m.deleted_at IS NULL",
        (message_id,),
    ).fetchone()
    if row is None:
        raise HistoryMissingError(*MESSAGE_GONE)
    return _Place(row[0], row[1], read_tree(connection, row[0]))
