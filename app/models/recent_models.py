"""Models that were loaded lately."""

from __future__ import annotations

import json
from pathlib import Path

from PySide6.QtCore import QSettings

_KEY = "models/recent"
_MOST = 8


class RecentModels:
    """Files, the newest first; kept in the program's settings. GUI thread."""

    def __init__(self, settings: QSettings) -> None:
        self._settings = settings

    def all(self) -> list[Path]:
        """Entries that can't be read any more are left out."""
        try:
            stored = json.loads(str(self._settings.value(_KEY, "[]")))
        except ValueError:
            return []
        entries = stored if isinstance(stored, list) else []
        return [found for entry in entries if (found := _path(entry)) is not None]

    def remember(self, path: Path) -> None:
        """Put a model that was loaded on top."""
        self._store([path, *(each for each in self.all() if each != path)][:_MOST])

    def forget(self, path: Path) -> None:
        """Take a model off the list, e.g. because its file is gone."""
        self._store([each for each in self.all() if each != path])

    def _store(self, paths: list[Path]) -> None:
        self._settings.setValue(_KEY, json.dumps([str(path) for path in paths]))


def _path(entry: object) -> Path | None:
    match entry:
        case str(path) | [str(path), int() | None, int() | None]:  # an older version kept memory and context
            return Path(path)
    return None
