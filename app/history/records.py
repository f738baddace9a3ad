"""What the store hands out: frozen values that may cross threads. Times are seconds since 1970 (UTC)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

STREAMING = "streaming"
COMPLETE = "complete"
STOPPED = "stopped"
FAILED = "failed"
INTERRUPTED = "interrupted"
FINAL_STATUSES = frozenset({COMPLETE, STOPPED, FAILED, INTERRUPTED})


@dataclass(frozen=True, slots=True)
class Conversation:
    """`model_name` is the model of the latest answer, empty before the first."""

    id: int
    title: str
    created_at_seconds: float
    updated_at_seconds: float
    model_name: str


@dataclass(frozen=True, slots=True)
class Message:
    """`role` is user or assistant; `status` streaming, complete, stopped, failed or interrupted.

    `stats` is what `finish_answer` was given (JSON values only), None before that.
    """

    id: int
    conversation_id: int
    role: str
    text: str
    status: str
    created_at_seconds: float
    stats: Mapping[str, object] | None
    model_name: str = ""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One place where every search term occurs; `message_id` is None when it is the title.

    `excerpt` is a line of text around the first term; it holds that term at
    `excerpt[match_start:match_end]` (equal when folding case changed its length).
    """

    conversation_id: int
    title: str
    message_id: int | None
    role: str
    excerpt: str
    match_start: int
    match_end: int
