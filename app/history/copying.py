"""Whole conversations out of the database and into it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace

from app.history.conversation_copy import ConversationCopy, HistoryCopy, MessageCopy
from app.history.conversation_rows import GONE, ConversationRows
from app.history.database import Database, new_id, storable
from app.history.errors import HistoryMissingError
from app.history.message_rows import set_leaf
from app.history.presets import Presets
from app.history.records import INTERRUPTED, STREAMING, Attachment, ChatSettings, Conversation
from app.history.stored_json import (
    attachments_json,
    read_attachments,
    read_settings,
    read_stats,
    settings_json,
    stats_json,
)

_CONVERSATION = """SELECT c.title, c.created_at, c.updated_at, c.model_name, c.is_pinned, c.folder,
    c.settings, p.name, c.leaf_id
    FROM conversations c LEFT JOIN presets p ON p.id = c.preset_id WHERE c.id = ?"""
_MESSAGES = """SELECT id, role, text, status, created_at, model_name, parent_id, stats, attachments
    FROM messages WHERE conversation_id = ? AND deleted_at IS NULL ORDER BY id"""


class Copying:
    """Methods as in HistoryStore, which says what they promise."""

    def __init__(
        self,
        database: Database,
        conversations: ConversationRows,
        presets: Presets,
        wall_clock: Callable[[], float],
    ) -> None:
        self._database = database
        self._conversations = conversations
        self._presets = presets
        self._wall_clock = wall_clock

    def copy_of(self, conversation_ids: Sequence[int] | None) -> HistoryCopy:
        if conversation_ids is None:
            ids = [each.id for each in self._conversations.all()]
        else:
            ids = list(conversation_ids)
        with self._database.in_words():
            copies = tuple(_read(self._database.connection, each) for each in ids)
        used = {each.preset for each in copies}
        presets = [each for each in self._presets.all() if conversation_ids is None or each.name in used]
        return HistoryCopy(copies, tuple((each.name, each.settings) for each in presets))

    def add(self, copy: HistoryCopy) -> list[int]:
        with self._database.transaction(is_durable=True) as connection:
            presets = {name: self._preset_id(name, settings) for name, settings in copy.presets}
            return [
                _write(connection, each, None if each.preset is None else presets.get(each.preset))
                for each in copy.conversations
            ]

    def duplicate(self, conversation_id: int) -> Conversation:
        copy = self.copy_of([conversation_id])
        (original,) = copy.conversations
        title = f"{original.title} (copy)" if original.title else ""
        twin = replace(original, title=title, is_pinned=False, updated_at_seconds=self._wall_clock())
        return self._conversations.one(self.add(replace(copy, conversations=(twin,)))[0])

    def _preset_id(self, name: str, settings: ChatSettings) -> int:
        """Inside a transaction: the same preset if there is one, else a new one under a free name."""
        plain = storable(name).strip()
        taken = {each.name.casefold(): each for each in self._presets.all()}
        candidate, attempt = plain, 1
        while (found := taken.get(candidate.casefold())) is not None:
            if found.settings == settings:
                return found.id
            attempt += 1
            candidate = f"{plain} ({attempt})"
        return self._presets.insert(candidate, settings).id


def _read(connection: sqlite3.Connection, conversation_id: int) -> ConversationCopy:
    row = connection.execute(_CONVERSATION, (conversation_id,)).fetchone()
    if row is None:
        raise HistoryMissingError(*GONE)
    title, created_at, updated_at, model_name, is_pinned, folder, settings, preset, leaf_id = row
    places: dict[int | None, int] = {}
    messages: list[MessageCopy] = []
    for number, role, text, status, at, model, parent_id, stats, files in connection.execute(
        _MESSAGES, (conversation_id,)
    ):
        # what streams goes on elsewhere: the copy ends here
        ending = INTERRUPTED if status == STREAMING else status
        parent = places.get(parent_id)
        places[number] = len(messages)
        messages.append(
            MessageCopy(role, text, ending, at, model, parent, read_stats(stats), read_attachments(files))
        )
    return ConversationCopy(
        title, created_at, updated_at, model_name, bool(is_pinned), folder,
        read_settings(settings), preset, tuple(messages), places.get(leaf_id),
    )  # fmt: skip


def _write(connection: sqlite3.Connection, copy: ConversationCopy, preset_id: int | None) -> int:
    cursor = connection.execute(
        "INSERT INTO conversations (title, created_at, updated_at, model_name, is_pinned, folder, settings, "
        "preset_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            storable(copy.title), copy.created_at_seconds, copy.updated_at_seconds, storable(copy.model_name),
            int(copy.is_pinned), storable(copy.folder).strip(), settings_json(copy.settings), preset_id,
        ),
    )  # fmt: skip
    conversation_id = new_id(cursor)
    ids: list[int] = []
    for each in copy.messages:
        ids.append(_write_message(connection, conversation_id, each, ids))
    if ids:
        set_leaf(connection, conversation_id, ids[-1 if copy.leaf is None else copy.leaf])
    return conversation_id


def _write_message(
    connection: sqlite3.Connection, conversation_id: int, copy: MessageCopy, ids: Sequence[int]
) -> int:
    files = [Attachment(storable(each.name), storable(each.text)) for each in copy.attachments]
    cursor = connection.execute(
        "INSERT INTO messages (conversation_id, role, text, status, created_at, model_name, parent_id, "
        "stats, attachments) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            conversation_id, copy.role, storable(copy.text), copy.status, copy.created_at_seconds,
            storable(copy.model_name), None if copy.parent is None else ids[copy.parent],
            stats_json(copy.stats), attachments_json(files),
        ),
    )  # fmt: skip
    return new_id(cursor)
