"""What was asked for each model, kept over a restart."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from enum import StrEnum
from typing import Any

from PySide6.QtCore import QSettings

from engine.config import LoadSettings, Repack, Routing
from engine.errors import UsageError

_KEY = "models/asked"
_MOST = 64
_NUMBERS = (
    "ram_budget_bytes", "context_tokens", "unit_tokens", "pool_per_layer", "hot_per_layer",
    "vram_budget_bytes", "staging_slots",
)  # fmt: skip
_OPTIONS: dict[str, type[StrEnum]] = {"routing": Routing, "repack": Repack}
_FLAGS = ("is_pool_fixed",)
_DEVICES, _REMOTE = "devices", "rpc:"
_AUTOMATIC = {field.name: field.default for field in fields(LoadSettings)}


class LoadMemory:
    """By the model's path; what makes no sense is ignored. GUI thread."""

    def __init__(self, settings: QSettings) -> None:
        self._settings = settings

    def over(self, usual: LoadSettings, remote_devices: tuple[str, ...]) -> LoadSettings:
        """`usual`, which names the file, with what was asked for it last time.

        Another machine that is not set up any more is left out.
        """
        values = _values(self._all().get(str(usual.path)))
        if _DEVICES in values:
            values[_DEVICES] = tuple(
                each for each in values[_DEVICES] if each in remote_devices or not each.startswith(_REMOTE)
            )
        try:
            return replace(usual, **values)
        except UsageError:
            return usual

    def keep(self, asked: LoadSettings, usual_devices: tuple[str, ...]) -> None:
        """Remember; the models asked for longest ago are forgotten.

        With the usual devices, the model follows what is usual later, too.
        """
        entry: dict[str, Any] = {
            name: getattr(asked, name)
            for name in (*_NUMBERS, *_OPTIONS, *_FLAGS)
            if getattr(asked, name) != _AUTOMATIC[name]
        }
        if set(asked.devices) != set(usual_devices):
            entry[_DEVICES] = list(asked.devices)
        entries = {path: each for path, each in self._all().items() if path != str(asked.path)}
        newest = dict([*entries.items(), (str(asked.path), entry)][-_MOST:])
        self._settings.setValue(_KEY, json.dumps(newest))

    def _all(self) -> dict[str, object]:
        try:
            stored = json.loads(str(self._settings.value(_KEY, "{}")))
        except ValueError:
            return {}
        return stored if isinstance(stored, dict) else {}


def _values(stored: object) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if not isinstance(stored, dict):
        return values
    for name in _NUMBERS:
        number = stored.get(name)
        if isinstance(number, int) and not isinstance(number, bool):
            values[name] = number
    for name in _FLAGS:
        flag = stored.get(name)
        if isinstance(flag, bool):
            values[name] = flag
    for name, kind in _OPTIONS.items():
        word = stored.get(name)
        if isinstance(word, str) and word in set(kind):
            values[name] = kind(word)
    devices = stored.get(_DEVICES)
    if isinstance(devices, list) and all(isinstance(each, str) for each in devices):
        values[_DEVICES] = tuple(devices)
    return values
