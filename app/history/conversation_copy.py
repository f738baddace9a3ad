"""Whole conversations as plain values: what exports, imports and duplicates pass on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.history.records import Attachment, ChatSettings


@dataclass(frozen=True, slots=True)
class MessageCopy:
    """`parent` is a place in the list of messages, before this one's; None for a first message."""

    role: str
    text: str
    status: str
    created_at_seconds: float
    model_name: str = ""
    parent: int | None = None
    stats: Mapping[str, object] | None = None
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class ConversationCopy:
    """All branches; `leaf` is the place of the message that ends the active one.

    `preset` is the name of one of the copy's presets.
    """

    title: str
    created_at_seconds: float
    updated_at_seconds: float
    model_name: str = ""
    is_pinned: bool = False
    folder: str = ""
    settings: ChatSettings = field(default_factory=ChatSettings)
    preset: str | None = None
    messages: tuple[MessageCopy, ...] = ()
    leaf: int | None = None


@dataclass(frozen=True, slots=True)
class HistoryCopy:
    """Conversations and the presets they name; no ids, so it fits into any store."""

    conversations: tuple[ConversationCopy, ...]
    presets: tuple[tuple[str, ChatSettings], ...] = ()
