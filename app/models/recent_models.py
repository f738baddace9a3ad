"""Models that were loaded lately, with the settings they were loaded with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QSettings

from engine.config import LoadSettings

_KEY = "models/recent"
_MOST = 8


@dataclass(frozen=True, slots=True)
class RecentModel:
    """A file and what the user asked for (None: automatic)."""

    path: Path
    ram_budget_bytes: int | None = None
    context_tokens: int | None = None

    @property
    def settings(self) -> LoadSettings:
        return LoadSettings(
            self.path, ram_budget_bytes=self.ram_budget_bytes, context_tokens=self.context_tokens
        )


class RecentModels:
    """The newest first; kept in the program's settings. GUI thread."""

    def __init__(self, settings: QSettings) -> None:
        self._settings = settings

    def all(self) -> list[RecentModel]:
        """Entries that can't be read any more are left out."""
        try:
            stored = json.loads(str(self._settings.value(_KEY, "[]")))
        except ValueError:
            return []
        entries = stored if isinstance(stored, list) else []
        return [found for entry in entries if (found := _entry(entry)) is not None]

    def of(self, path: Path) -> RecentModel:
        """The settings of last time, or automatic ones."""
        return next((each for each in self.all() if each.path == path), RecentModel(path))

    def remember(self, settings: LoadSettings) -> None:
        """Put a model that was loaded on top."""
        newest = RecentModel(settings.path, settings.ram_budget_bytes, settings.context_tokens)
        self._store([newest, *(each for each in self.all() if each.path != settings.path)][:_MOST])

    def forget(self, path: Path) -> None:
        """Take a model off the list, e.g. because its file is gone."""
        self._store([each for each in self.all() if each.path != path])

    def _store(self, models: list[RecentModel]) -> None:
        entries = [[str(each.path), each.ram_budget_bytes, each.context_tokens] for each in models]
        self._settings.setValue(_KEY, json.dumps(entries))


def _entry(entry: object) -> RecentModel | None:
    match entry:
        case [str(path), int() | None as ram, int() | None as context]:
            return RecentModel(Path(path), ram or None, context or None)
    return None
