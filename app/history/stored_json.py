"""Values kept as JSON in a column or a file; what is damaged reads as absent and takes nothing with it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from app.history.database import storable
from app.history.records import Attachment, ChatSettings

_INTEGERS = frozenset({"top_k", "max_tokens", "seed"})


def settings_values(settings: ChatSettings) -> dict[str, object]:
    """Only what is set."""
    return {name: value for name, value in asdict(settings).items() if value not in (None, "")}


def settings_json(settings: ChatSettings) -> str:
    return _dump(settings_values(settings))


def read_settings(stored: str) -> ChatSettings:
    """Unknown names and values of a wrong kind are left out."""
    values = _load(stored)
    if not isinstance(values, dict):
        return ChatSettings()
    return ChatSettings(**{name: value for name, value in values.items() if is_setting(name, value)})


def is_setting(name: str, value: object) -> bool:
    """Whether a setting of this name can have this value."""
    if name == "system_prompt":
        return isinstance(value, str)
    if name not in ChatSettings.__dataclass_fields__ or isinstance(value, bool):
        return False
    return isinstance(value, int) or (name not in _INTEGERS and isinstance(value, float))


def attachments_json(attachments: Sequence[Attachment]) -> str | None:
    """None for none: most messages have no files."""
    return _dump([asdict(each) for each in attachments]) if attachments else None


def read_attachments(stored: str | None) -> tuple[Attachment, ...]:
    values = _load(stored)
    if not isinstance(values, list):
        return ()
    pairs = [(each.get("name"), each.get("text")) for each in values if isinstance(each, dict)]
    return tuple(
        Attachment(name, text) for name, text in pairs if isinstance(name, str) and isinstance(text, str)
    )


def stats_json(stats: Mapping[str, object] | None) -> str | None:
    """A value JSON can't hold becomes its text."""
    return None if stats is None else _dump(dict(stats))


def read_stats(stored: str | None) -> dict[str, object] | None:
    values = _load(stored)
    return values if isinstance(values, dict) else None


def _dump(values: object) -> str:
    return storable(json.dumps(values, ensure_ascii=False, default=str))


def _load(stored: str | None) -> object:
    try:
        return None if stored is None else json.loads(stored)
    except (ValueError, RecursionError):
        return None
