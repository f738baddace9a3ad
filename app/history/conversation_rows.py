"""The conversations themselves: title, folder, pin, settings; not their messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.history.database import Database, new_id, require_row, storable
from app.history.errors import HistoryMissingError
from app.history.records import ChatSettings, Conversation, Preset
from app.history.stored_json import read_settings, settings_json

_COLUMNS = "id, title, created_at, updated_at, model_name, is_pinned, folder, leaf_id"
GONE = ("This conversation no longer exists.", "Choose another one, or start a new one.")


class ConversationRows:
    """Methods as in HistoryStore, which says what they promise."""

    def __init__(self, database: Database, wall_clock: Callable[[], float]) -> None:
        self._database = database
        self._wall_clock = wall_clock

    def create(self, title: str) -> Conversation:
        now = self._wall_clock()
        with self._database.transaction() as connection:
            cursor = connection.execute(
                "INSERT INTO conversations (title, created_at, updated_at) VALUES (?, ?, ?)",
                (storable(title), now, now),
            )
        return Conversation(new_id(cursor), storable(title), now, now, "")

    def all(self) -> list[Conversation]:
        with self._database.in_words():
            rows = self._database.connection.execute(
                f"SELECT {_COLUMNS} FROM conversations WHERE deleted_at IS NULL "
                "ORDER BY is_pinned DESC, updated_at DESC, id DESC"
            ).fetchall()
        return [_conversation(row) for row in rows]

    def one(self, conversation_id: int) -> Conversation:
        return _conversation(self._row(_COLUMNS, conversation_id))

    def change(self, column: str, value: object, conversation_id: int) -> None:
        with self._database.transaction() as connection:
            cursor = connection.execute(
                f"UPDATE conversations SET {column} = ? WHERE id = ?", (value, conversation_id)
            )
            require_row(cursor, *GONE)

    def touch(self, conversation_id: int, model_name: str) -> float:
        """Inside a transaction: something was said now; an empty name leaves the model as it is."""
        now = self._wall_clock()
        cursor = self._database.connection.execute(
            "UPDATE conversations SET updated_at = ?, model_name = iif(? = '', model_name, ?) WHERE id = ?",
            (now, model_name, model_name, conversation_id),
        )
        require_row(cursor, *GONE)
        return now

    def delete(self, conversation_id: int) -> None:
        self.change("deleted_at", self._wall_clock(), conversation_id)

    def folders(self) -> list[str]:
        with self._database.in_words():
            rows = self._database.connection.execute(
                "SELECT DISTINCT folder FROM conversations WHERE deleted_at IS NULL AND folder <> ''"
            ).fetchall()
        return sorted((row[0] for row in rows), key=lambda name: (name.casefold(), name))

    def settings(self, conversation_id: int) -> ChatSettings:
        return read_settings(self._row("settings", conversation_id)[0])

    def set_settings(self, conversation_id: int, settings: ChatSettings) -> None:
        self.change("settings", settings_json(settings), conversation_id)

    def preset(self, conversation_id: int) -> Preset | None:
        self._row("id", conversation_id)
        with self._database.in_words():
            row = self._database.connection.execute(
                "SELECT p.id, p.name, p.settings FROM presets p "
                "JOIN conversations c ON c.preset_id = p.id WHERE c.id = ?",
                (conversation_id,),
            ).fetchone()
        return None if row is None else Preset(row[0], row[1], read_settings(row[2]))

    def _row(self, columns: str, conversation_id: int) -> tuple[Any, ...]:
        with self._database.in_words():
            row: tuple[Any, ...] | None = self._database.connection.execute(
                f"SELECT {columns} FROM conversations WHERE id = ?", (conversation_id,)
            ).fetchone()
        if row is None:
            raise HistoryMissingError(*GONE)
        return row


def _conversation(row: tuple[Any, ...]) -> Conversation:
    number, title, created_at, updated_at, model_name, is_pinned, folder, leaf_id = row
    return Conversation(number, title, created_at, updated_at, model_name, bool(is_pinned), folder, leaf_id)
