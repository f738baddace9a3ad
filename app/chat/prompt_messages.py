"""Which turns of a conversation the model gets to read."""

from __future__ import annotations

from collections.abc import Sequence

from app.chat.attachment_prompt import with_attachments
from app.chat.thinking import without_thinking
from app.history.records import Message
from engine.config import ChatMessage


def prompt_messages(messages: Sequence[Message], is_continuation: bool = False) -> list[ChatMessage]:
    """Turns that alternate and end with the user's, as chat templates demand; empty if nobody asked.

    Answers come without their thinking, messages with their files. Empty answers (stopped or failed
    before the first word) are left out; of several answers to the same message the last one counts; messages
    sent one after the other become one turn. A continuation ends with the last answer, word for word.
    """
    continued = messages[-1:] if is_continuation else []
    turns: list[ChatMessage] = []
    for message in messages[: len(messages) - len(continued)]:
        text = _read_text(message)
        if not text.strip():
            continue
        if turns and turns[-1].role == message.role:
            previous = turns.pop().content
            if message.role == "user":
                text = f"{previous}\n\n{text}"
        turns.append(ChatMessage(message.role, text))
    while turns and turns[-1].role != "user":
        turns.pop()
    if turns:
        turns += [ChatMessage(each.role, each.text) for each in continued]
    return turns


def _read_text(message: Message) -> str:
    if message.role == "user":
        return with_attachments(message.text, message.attachments)
    return without_thinking(message.text)


def is_answer_due(messages: Sequence[Message]) -> bool:
    """Whether the last turn is a user's message without an answer."""
    return bool(messages) and messages[-1].role == "user"


def title_of(text: str, most_characters: int = 60) -> str:
    """A title from the first line that says something."""
    line = next((each.strip() for each in text.splitlines() if each.strip()), "")
    line = " ".join(line.split())
    return line if len(line) <= most_characters else line[: most_characters - 1].rstrip() + "…"
