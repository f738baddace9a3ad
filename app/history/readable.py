"""A conversation as its reader sees it: the active branch, names instead of roles, words instead of codes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from app.history.conversation_copy import ConversationCopy, MessageCopy
from app.history.message_tree import MessageTree
from app.history.records import FAILED, INTERRUPTED, STOPPED, Attachment

_ENDINGS = {
    STOPPED: "Stopped before the end.",
    INTERRUPTED: "Interrupted: the program ended before the answer did.",
    FAILED: "Failed before the end.",
}


@dataclass(frozen=True, slots=True)
class ReadableMessage:
    """`ending` says how an answer was cut short, empty if it wasn't; `written_at` is local time."""

    speaker: str
    is_answer: bool
    written_at: str
    text: str
    ending: str
    attachments: tuple[Attachment, ...]


@dataclass(frozen=True, slots=True)
class ReadableConversation:
    """`title` is one line."""

    title: str
    written_at: str
    messages: tuple[ReadableMessage, ...]


def readable(copy: ConversationCopy, answer_text: Callable[[str], str]) -> ReadableConversation:
    """`answer_text` makes of an answer what a reader should see of it."""
    tree = MessageTree((place, each.parent) for place, each in enumerate(copy.messages))
    messages = tuple(_message(copy.messages[place], answer_text) for place in tree.branch(copy.leaf))
    title = " ".join(copy.title.split()) or "Conversation"
    return ReadableConversation(title, _local(copy.created_at_seconds), messages)


def _message(copy: MessageCopy, answer_text: Callable[[str], str]) -> ReadableMessage:
    is_answer = copy.role == "assistant"
    return ReadableMessage(
        speaker=(" ".join(copy.model_name.split()) or "Answer") if is_answer else "You",
        is_answer=is_answer,
        written_at=_local(copy.created_at_seconds),
        text=(answer_text(copy.text) if is_answer else copy.text).strip("\n"),
        ending=_ENDINGS.get(copy.status, "") if is_answer else "",
        attachments=copy.attachments,
    )


def _local(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
