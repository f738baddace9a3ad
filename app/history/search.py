"""Find text in titles and messages, in any script, as typed: no wildcards, no query language.

SQLite's trigram index needs three characters and finds nothing for less, so Chinese and Japanese
words of two characters are looked up in the table itself (about 0.1 s for 20,000 messages).
"""

from __future__ import annotations

import sqlite3

from app.history.records import SearchHit

_INDEXED_CHARACTERS = 3
_EXCERPT_BEFORE, _EXCERPT_AFTER = 40, 100
MAX_HITS = 200

_TITLES = """SELECT id, title FROM conversations
    WHERE deleted_at IS NULL AND contains_all(CAST(title AS BLOB), ?)
    ORDER BY updated_at DESC, id DESC LIMIT ?"""
_MESSAGES = """SELECT c.id, c.title, m.id, m.role, m.text FROM messages m
    JOIN conversations c ON c.id = m.conversation_id
    WHERE c.deleted_at IS NULL AND m.deleted_at IS NULL AND {condition}
        AND contains_all(CAST(m.text AS BLOB), ?)
    ORDER BY {order} LIMIT ?"""
_NEWEST_FIRST = "c.updated_at DESC, c.id DESC, m.id DESC"
# answers that still stream are not in the index; contains_all reads those few
_IN_INDEX = """(m.status = 'streaming'
    OR m.id IN (SELECT rowid FROM message_index WHERE message_index MATCH ?))"""


def register_search(connection: sqlite3.Connection) -> None:
    """Teach the connection `contains_all(text, terms)`; SQLite's own instr and LIKE fold only ASCII."""
    connection.create_function("contains_all", 2, _contains_all, deterministic=True)


def rebuild_index(connection: sqlite3.Connection) -> None:
    """Make the index anew from the messages (about 4 s per 100 MB). Raises sqlite3.Error."""
    connection.execute("INSERT INTO message_index (message_index) VALUES ('rebuild')")


def find(connection: sqlite3.Connection, text: str) -> list[SearchHit]:
    """Where every word of `text` occurs: titles first, then messages, newest conversation first.

    Words are what stands between blanks (the ideographic space is one). At most MAX_HITS.
    Raises sqlite3.Error.
    """
    words = text.replace("\0", " ").split()
    if not words:
        return []
    folded = " ".join(words).casefold()
    titles = connection.execute(_TITLES, (folded, MAX_HITS)).fetchall()
    hits = [_hit(number, title, None, "", title, folded) for number, title in titles]
    condition, parameters = _narrowing(words)
    query = _MESSAGES.format(condition=condition, order=_NEWEST_FIRST)
    return hits + _hits(connection, query, (*parameters, folded, MAX_HITS - len(hits)), folded)


def find_in(connection: sqlite3.Connection, text: str, conversation_id: int) -> list[SearchHit]:
    """The messages of one conversation where every word of `text` occurs, oldest first.

    Reads them all: quicker than the index, which knows nothing of conversations. Raises sqlite3.Error.
    """
    folded = " ".join(text.replace("\0", " ").split()).casefold()
    if not folded:
        return []
    query = _MESSAGES.format(condition="c.id = ?", order="m.id")
    return _hits(connection, query, (conversation_id, folded, MAX_HITS), folded)


def _hits(
    connection: sqlite3.Connection, query: str, parameters: tuple[object, ...], folded: str
) -> list[SearchHit]:
    return [
        _hit(number, title, message_id, role, body, folded)
        for number, title, message_id, role, body in connection.execute(query, parameters)
    ]


def _narrowing(words: list[str]) -> tuple[str, tuple[str, ...]]:
    # the index folds case by itself, and less far than casefold: it gets the words as typed
    indexed = [word for word in words if len(word) >= _INDEXED_CHARACTERS]
    if not indexed:
        return "1", ()
    quoted = " AND ".join('"' + word.replace('"', '""') + '"' for word in indexed)
    return _IN_INDEX, (quoted,)


def _contains_all(text: bytes, folded_words: str) -> bool:
    # bytes: one damaged character in one text must not end the whole search
    folded = text.decode("utf-8", "replace").casefold()
    return all(word in folded for word in folded_words.split(" "))


def _hit(number: int, title: str, message_id: int | None, role: str, text: str, folded: str) -> SearchHit:
    word = folded.split(" ", maxsplit=1)[0]
    found = min(text.casefold().find(word), len(text))
    # folding may change a text's length (ß, İ): then the place is only near, and nothing is marked
    is_exact = text[found : found + len(word)].casefold() == word
    start = max(0, found - _EXCERPT_BEFORE)
    excerpt = "".join(" " if each.isspace() else each for each in text[start : found + _EXCERPT_AFTER])
    match_start = found - start
    return SearchHit(
        number, title, message_id, role, excerpt, match_start, match_start + len(word) * is_exact
    )
