"""What the user chose for the chat as a whole, kept over a restart."""

from __future__ import annotations

from PySide6.QtCore import QObject, QSettings, Signal

_PRESET, _CTRL_ENTER = "chat/default_preset", "composer/send_with_ctrl"


class ChatChoices(QObject):
    """Reads and writes the settings file; `changed` after each change. GUI thread."""

    changed = Signal()

    def __init__(self, settings: QSettings) -> None:
        super().__init__()
        self._settings = settings

    @property
    def default_preset_id(self) -> int | None:
        """The preset new conversations begin with; None for the program's own values."""
        stored = str(self._settings.value(_PRESET, "") or "")
        return int(stored) if stored.isascii() and stored.isdigit() else None

    def set_default_preset_id(self, preset_id: int | None) -> None:
        self._keep(_PRESET, "" if preset_id is None else str(preset_id))

    @property
    def sends_with_ctrl_enter(self) -> bool:
        """Whether Enter breaks the line and Ctrl+Enter sends."""
        return bool(self._settings.value(_CTRL_ENTER, False, bool))

    def set_sends_with_ctrl_enter(self, is_wanted: bool) -> None:
        self._keep(_CTRL_ENTER, is_wanted)

    def _keep(self, key: str, value: str | bool) -> None:
        self._settings.setValue(key, value)
        self._settings.sync()
        self.changed.emit()
