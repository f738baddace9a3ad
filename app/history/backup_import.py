"""Conversations out of a backup file into the list; what is there already is not added twice."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory

from app.history.conversation_copy import HistoryCopy, MessageCopy
from app.history.database_file import find_damage, is_absent
from app.history.errors import HistoryImportError
from app.history.store import HistoryStore

_NEXT_STEP = "Nothing was imported. Choose another backup."
_FIRST_BYTES = b"SQLite format 3\0"


def is_backup(path: Path) -> bool:
    """Whether the file looks like a database, so that it isn't read as text. Raises OSError."""
    with path.open("rb") as file:
        return file.read(len(_FIRST_BYTES)) == _FIRST_BYTES


def import_backup(store: HistoryStore, path: Path) -> list[int]:
    """Add what `HistoryStore.backup_to` wrote, now or by an older version; returns the new ids.

    All or none; a conversation that stands in the list unchanged is left out. The file stays as it is.
    Raises HistoryImportError (no backup, damaged), HistoryVersionError (newer, another program's).
    """
    # an older one is migrated, which must not happen to the user's file
    with TemporaryDirectory(prefix="emberglass-") as folder:
        copied = Path(folder) / "backup.sqlite3"
        try:
            copyfile(path, copied)
            _refuse_damage(copied, path)
        except (OSError, sqlite3.Error) as error:
            raise HistoryImportError(f"{path} can’t be read ({error}).", _NEXT_STEP, repr(error)) from error
        with closing(HistoryStore(copied)) as backup:
            return store.add_copy(_without_known(backup.copy_of(None), store.copy_of(None)))


def _refuse_damage(copied: Path, path: Path) -> None:
    damage = "it is empty" if is_absent(copied) else find_damage(copied)
    if damage:
        raise HistoryImportError(f"{path} is no sound backup of conversations.", _NEXT_STEP, damage)


def _without_known(copy: HistoryCopy, known: HistoryCopy) -> HistoryCopy:
    """Conversations that were only moved or renamed since are known too."""
    seen: dict[float, list[tuple[MessageCopy, ...]]] = {}
    for each in known.conversations:
        seen.setdefault(each.created_at_seconds, []).append(each.messages)
    new = [each for each in copy.conversations if each.messages not in seen.get(each.created_at_seconds, [])]
    return replace(copy, conversations=tuple(new))
