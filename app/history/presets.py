"""Named settings that conversations can share."""

from __future__ import annotations

from app.history.database import Database, new_id, require_row, storable
from app.history.errors import HistoryMissingError, HistoryNameError
from app.history.records import ChatSettings, Preset
from app.history.stored_json import read_settings, settings_json

_GONE = ("This preset no longer exists.", "Choose another one, or save it as a new one.")


class Presets:
    """Methods as in HistoryStore, which says what they promise."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[Preset]:
        with self._database.in_words():
            rows = self._database.connection.execute("SELECT id, name, settings FROM presets").fetchall()
        presets = [Preset(number, name, read_settings(settings)) for number, name, settings in rows]
        return sorted(presets, key=lambda each: (each.name.casefold(), each.id))

    def save(self, name: str, settings: ChatSettings, preset_id: int | None) -> Preset:
        plain = storable(name).strip()
        self._check_name(plain, preset_id)
        with self._database.transaction() as connection:
            if preset_id is None:
                return self.insert(plain, settings)
            cursor = connection.execute(
                "UPDATE presets SET name = ?, settings = ? WHERE id = ?",
                (plain, settings_json(settings), preset_id),
            )
            require_row(cursor, *_GONE)
        return Preset(preset_id, plain, settings)

    def insert(self, name: str, settings: ChatSettings) -> Preset:
        """Inside a transaction; the name is free."""
        cursor = self._database.connection.execute(
            "INSERT INTO presets (name, settings) VALUES (?, ?)", (name, settings_json(settings))
        )
        return Preset(new_id(cursor), name, settings)

    def delete(self, preset_id: int) -> None:
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM presets WHERE id = ?", (preset_id,))

    def require(self, preset_id: int | None) -> None:
        """Raises HistoryMissingError if there is no such preset; None is fine."""
        if preset_id is not None and all(each.id != preset_id for each in self.all()):
            raise HistoryMissingError(*_GONE)

    def _check_name(self, name: str, preset_id: int | None) -> None:
        if not name:
            raise HistoryNameError("A preset needs a name.", "Type one and save again.")
        folded = name.casefold()
        if any(each.name.casefold() == folded and each.id != preset_id for each in self.all()):
            raise HistoryNameError(
                f"There is already a preset named “{name}”.", "Choose another name, or change that preset."
            )
