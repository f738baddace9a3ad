"""The tables, version by version. A released step is never edited; a new one is appended.

Answers enter the trigram index when they end: re-indexing a long answer at every save would
cost more than the save. Search reads the few streaming ones directly.
STRICT lets SQLite's integrity check find values whose type was damaged.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing

Statements = tuple[str, ...]

APPLICATION_ID = 0x454D4247  # "EMBG": tells our files from those of other programs

_VERSION_1: Statements = (
    """CREATE TABLE conversations (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        title TEXT NOT NULL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        model_name TEXT NOT NULL DEFAULT '',
        deleted_at REAL
    ) STRICT""",
    "CREATE INDEX conversations_by_time ON conversations (updated_at)",
    """CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        conversation_id INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
        text TEXT NOT NULL,
        status TEXT NOT NULL
            CHECK (status IN ('streaming', 'complete', 'stopped', 'failed', 'interrupted')),
        model_name TEXT NOT NULL DEFAULT '',
        created_at REAL NOT NULL,
        stats TEXT
    ) STRICT""",
    "CREATE INDEX messages_by_conversation ON messages (conversation_id, id)",
    "CREATE INDEX messages_streaming ON messages (id) WHERE status = 'streaming'",
    """CREATE VIRTUAL TABLE message_index USING fts5 (
        text, content = 'messages', content_rowid = 'id', tokenize = 'trigram'
    )""",
    """CREATE TRIGGER message_added AFTER INSERT ON messages WHEN new.status <> 'streaming' BEGIN
        INSERT INTO message_index (rowid, text) VALUES (new.id, new.text);
    END""",
    """CREATE TRIGGER message_changed AFTER UPDATE OF text, status ON messages BEGIN
        INSERT INTO message_index (message_index, rowid, text)
            SELECT 'delete', old.id, old.text WHERE old.status <> 'streaming';
        INSERT INTO message_index (rowid, text)
            SELECT new.id, new.text WHERE new.status <> 'streaming';
    END""",
    """CREATE TRIGGER message_removed AFTER DELETE ON messages WHEN old.status <> 'streaming' BEGIN
        INSERT INTO message_index (message_index, rowid, text) VALUES ('delete', old.id, old.text);
    END""",
    f"PRAGMA application_id = {APPLICATION_ID}",
)

# Messages form a tree; only the root of what was deleted together knows the branch shown before.
# Without foreign keys in the tree: cascades through a thousand messages exceed SQLite's limit, and
# a reader that takes an unknown parent for none costs nothing.
_VERSION_2: Statements = (
    "ALTER TABLE messages ADD COLUMN parent_id INTEGER",
    "ALTER TABLE messages ADD COLUMN attachments TEXT",
    "ALTER TABLE messages ADD COLUMN deleted_at REAL",
    "ALTER TABLE messages ADD COLUMN deleted_with INTEGER",
    "ALTER TABLE messages ADD COLUMN leaf_before_deletion INTEGER",
    """UPDATE messages SET parent_id = (
        SELECT max(earlier.id) FROM messages earlier
        WHERE earlier.conversation_id = messages.conversation_id AND earlier.id < messages.id
    )""",
    """CREATE INDEX messages_tree ON messages (conversation_id, parent_id, id)
        WHERE deleted_at IS NULL""",
    "CREATE INDEX messages_deleted ON messages (deleted_with) WHERE deleted_at IS NOT NULL",
    """CREATE TABLE presets (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL,
        settings TEXT NOT NULL
    ) STRICT""",
    """ALTER TABLE conversations ADD COLUMN is_pinned INTEGER NOT NULL DEFAULT 0
        CHECK (is_pinned IN (0, 1))""",
    "ALTER TABLE conversations ADD COLUMN folder TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE conversations ADD COLUMN leaf_id INTEGER",
    "ALTER TABLE conversations ADD COLUMN settings TEXT NOT NULL DEFAULT '{}'",
    """ALTER TABLE conversations ADD COLUMN preset_id INTEGER
        REFERENCES presets (id) ON DELETE SET NULL""",
    """UPDATE conversations SET leaf_id = (
        SELECT max(id) FROM messages WHERE conversation_id = conversations.id
    )""",
    # NULL stands for the conversation that isn't begun yet
    """CREATE TABLE drafts (
        conversation_id INTEGER UNIQUE REFERENCES conversations (id) ON DELETE CASCADE,
        text TEXT NOT NULL
    ) STRICT""",
)

SCHEMA_STEPS: tuple[Statements, ...] = (_VERSION_1, _VERSION_2)


def stored_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection, steps: Sequence[Statements] = SCHEMA_STEPS) -> None:
    """Bring the tables to version `len(steps)`: all steps in one transaction, or none.

    The connection is in autocommit mode. Raises sqlite3.Error, with the file as it was.
    """
    version = stored_version(connection)
    if version >= len(steps):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in (each for step in steps[version:] for each in step):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(steps)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def missing_parts(connection: sqlite3.Connection, steps: Sequence[Statements]) -> list[str]:
    """Names of the tables, indexes and triggers of `steps` that the file lacks."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        migrate(fresh, steps)
        return sorted(_part_names(fresh) - _part_names(connection))


def _part_names(connection: sqlite3.Connection) -> set[str]:
    # SQLite's own tables and those inside the index are left out: their set may change with its version
    rows = connection.execute(
        "SELECT name FROM sqlite_master WHERE name NOT GLOB 'sqlite_*' AND name NOT GLOB 'message_index_*'"
    )
    return {row[0] for row in rows}
