"""Unsent text of each conversation; None is the one that isn't begun yet."""

from __future__ import annotations

from app.history.database import Database, storable


class Drafts:
    """Methods as in HistoryStore, which says what they promise."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def text(self, conversation_id: int | None) -> str:
        with self._database.in_words():
            row = self._database.connection.execute(
                "SELECT text FROM drafts WHERE conversation_id IS ?", (conversation_id,)
            ).fetchone()
        return "" if row is None else str(row[0])

    def keep(self, conversation_id: int | None, text: str) -> None:
        """Empty text forgets the draft, and so does a conversation that is gone."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM drafts WHERE conversation_id IS ?", (conversation_id,))
            if text:
                connection.execute(
                    "INSERT INTO drafts (conversation_id, text) SELECT ?1, ?2 WHERE ?1 IS NULL "
                    "OR EXISTS (SELECT 1 FROM conversations WHERE id = ?1)",
                    (conversation_id, storable(text)),
                )
