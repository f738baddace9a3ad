"""The devices the user set up, kept over a restart."""

from __future__ import annotations

import json

from PySide6.QtCore import QObject, QSettings, Signal

from app.settings.device_address import parse_address
from engine.errors import UsageError

_KEY = "devices/remote"


class DeviceChoices(QObject):
    """Reads and writes the settings file; `changed` after each change. GUI thread."""

    changed = Signal()

    def __init__(self, settings: QSettings) -> None:
        super().__init__()
        self._settings = settings

    @property
    def addresses(self) -> tuple[str, ...]:
        """`rpc:HOST:PORT` of each, in the order they were added; what is none is left out."""
        try:
            stored = json.loads(str(self._settings.value(_KEY, "[]")))
        except ValueError:
            return ()
        entries = stored if isinstance(stored, list) else []
        return tuple(dict.fromkeys(each for each in entries if isinstance(each, str) and _is_address(each)))

    def add(self, address: str) -> None:
        """`address` as `parse_address` gives it; one that is there already stays where it is."""
        if address not in self.addresses:
            self._keep((*self.addresses, address))

    def remove(self, address: str) -> None:
        self._keep(tuple(each for each in self.addresses if each != address))

    def _keep(self, addresses: tuple[str, ...]) -> None:
        self._settings.setValue(_KEY, json.dumps(addresses))
        self._settings.sync()
        self.changed.emit()


def _is_address(text: str) -> bool:
    try:
        return parse_address(text) == text
    except UsageError:
        return False
