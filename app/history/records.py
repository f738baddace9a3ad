"""What the store hands out: frozen values that may cross threads. Times are seconds since 1970 (UTC)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

STREAMING = "streaming"
COMPLETE = "complete"
STOPPED = "stopped"
FAILED = "failed"
INTERRUPTED = "interrupted"
FINAL_STATUSES = frozenset({COMPLETE, STOPPED, FAILED, INTERRUPTED})

LEAF: Final = -1  # as a parent: whatever message the active branch ends with


@dataclass(frozen=True, slots=True)
class Conversation:
    """`model_name` is the model of the latest answer, empty before the first; `folder` is empty for none.

    `leaf_id` is the message the active branch ends with, None while there is no message.
    """

    id: int
    title: str
    created_at_seconds: float
    updated_at_seconds: float
    model_name: str
    is_pinned: bool = False
    folder: str = ""
    leaf_id: int | None = None


@dataclass(frozen=True, slots=True)
class Attachment:
    """A text file that belongs to a user's message."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Message:
    """`role` is user or assistant; `status` streaming, complete, stopped, failed or interrupted.

    `stats` is what `finish_answer` was given (JSON values only), None before that.
    `sibling_ids` are all versions at this place, oldest first, itself included.
    `is_partial`: an answer with words that ended before the model was done; it can be continued.
    """

    id: int
    conversation_id: int
    role: str
    text: str
    status: str
    created_at_seconds: float
    stats: Mapping[str, object] | None
    model_name: str = ""
    parent_id: int | None = None
    sibling_ids: tuple[int, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    is_partial: bool = False


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """What a preset or a conversation sets; None (or no prompt) leaves it to the level above."""

    system_prompt: str = ""
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repeat_penalty: float | None = None
    max_tokens: int | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Preset:
    """Settings under a name."""

    id: int
    name: str
    settings: ChatSettings


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One place where every search term occurs; `message_id` is None when it is the title.

    `excerpt` is a line of text around the first term; it holds that term at
    `excerpt[match_start:match_end]` (equal when folding case changed its length).
    The message may lie on another branch than the active one: `choose_version` brings it up.
    """

    conversation_id: int
    title: str
    message_id: int | None
    role: str
    excerpt: str
    match_start: int
    match_end: int
