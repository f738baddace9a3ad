"""Reads the values of an export one by one; what doesn't fit is named by its place."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NoReturn, TypeVar

from app.history.conversation_copy import ConversationCopy, MessageCopy
from app.history.errors import HistoryImportError
from app.history.records import COMPLETE, FINAL_STATUSES, INTERRUPTED, STREAMING, Attachment, ChatSettings
from app.history.stored_json import is_setting

_ROLES = ("user", "assistant")
_LATEST_SECONDS = 32_503_680_000.0  # the year 3000: what every system's calendar can show
_Value = TypeVar("_Value", str, bool)


class Fields:
    """The values of one JSON object. Unknown ones are ignored, absent ones have their usual value."""

    def __init__(self, values: Mapping[str, object], place: str) -> None:
        """`place` names the object for the user, empty for the file itself."""
        self.values = values
        self.place = place

    def refuse(self, name: str, rule: str) -> NoReturn:
        raise HistoryImportError(
            f"The file can’t be imported: {self.place}{': ' if self.place else ''}“{name}” {rule}.",
            "Nothing was imported. Choose a JSON file that Emberglass has exported.",
        )

    def text(self, name: str, default: str | None = "") -> str:
        """With None as default it must be there."""
        value = self.values.get(name, default)
        return value if isinstance(value, str) else self.refuse(name, "must be a text")

    def flag(self, name: str) -> bool:
        value = self.values.get(name, False)
        return value if isinstance(value, bool) else self.refuse(name, "must be true or false")

    def whole(self, name: str, at_least: int) -> int:
        value = self.values.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
            self.refuse(name, f"must be a whole number from {at_least} on")
        return value

    def seconds(self, name: str) -> float:
        value = self.values.get(name, 0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LATEST_SECONDS:
            self.refuse(name, "must be a time in seconds since 1970")
        return float(value)

    def place_before(self, name: str, count: int, what: str) -> int | None:
        """The place (from 0) of one of `count` messages, or None."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < count:
            self.refuse(name, f"must be the place of {what}, counted from 0")
        return value

    def mapping(self, name: str) -> Mapping[str, object] | None:
        value = self.values.get(name)
        if value is not None and not isinstance(value, dict):
            self.refuse(name, "must be an object")
        return value

    def objects(self, name: str, kind: str) -> list[Fields]:
        """A list of objects, each named by its kind and number (from 1)."""
        value = self.values.get(name, [])
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            self.refuse(name, "must be a list of objects")
        inside = f"{self.place}, " if self.place else ""
        return [Fields(each, f"{inside}{kind} {number}") for number, each in enumerate(value, 1)]


def read_preset(fields: Fields) -> tuple[str, ChatSettings]:
    """Name and settings. Raises HistoryImportError, as do the others here."""
    name = fields.text("name", None)
    if not name.strip():
        fields.refuse("name", "must not be empty")
    return name, _read_settings(fields)


def read_conversation(fields: Fields, preset_names: Collection[str]) -> ConversationCopy:
    """All its branches; `preset_names` are those the file defines."""
    preset = None if fields.values.get("preset") is None else fields.text("preset")
    if preset is not None and preset not in preset_names:
        fields.refuse("preset", "must be the name of one of the presets")
    messages = [
        _read_message(each, number) for number, each in enumerate(fields.objects("messages", "message"))
    ]
    return ConversationCopy(
        title=fields.text("title"),
        created_at_seconds=fields.seconds("created_at_seconds"),
        updated_at_seconds=fields.seconds("updated_at_seconds"),
        model_name=fields.text("model_name"),
        is_pinned=fields.flag("is_pinned"),
        folder=fields.text("folder"),
        settings=_read_settings(fields),
        preset=preset,
        messages=tuple(messages),
        leaf=fields.place_before("leaf", len(messages), "one of the messages"),
    )


def _read_message(fields: Fields, number: int) -> MessageCopy:
    role = fields.text("role", None)
    if role not in _ROLES:
        fields.refuse("role", "must be “user” or “assistant”")
    status = fields.text("status", COMPLETE)
    if status not in FINAL_STATUSES and status != STREAMING:
        fields.refuse("status", f"must be one of {', '.join(sorted(FINAL_STATUSES))}")
    return MessageCopy(
        role=role,
        text=fields.text("text", None),
        status=INTERRUPTED if status == STREAMING else status,
        created_at_seconds=fields.seconds("created_at_seconds"),
        model_name=fields.text("model_name"),
        parent=fields.place_before("parent", number, "a message before this one"),
        stats=fields.mapping("stats"),
        attachments=tuple(
            Attachment(each.text("name", None), each.text("text", None))
            for each in fields.objects("attachments", "attachment")
        ),
    )


def _read_settings(fields: Fields) -> ChatSettings:
    values = fields.mapping("settings") or {}
    known = {name: value for name, value in values.items() if name in ChatSettings.__dataclass_fields__}
    for name, value in known.items():
        if not is_setting(name, value):
            fields.refuse(f"settings.{name}", "has a value of the wrong kind")
    return ChatSettings(**known)  # type: ignore[arg-type]  # is_setting has just looked at each
