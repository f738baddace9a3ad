"""Which turns of a conversation the model gets to read."""

from __future__ import annotations

from collections.abc import Sequence

from app.history.records import Message
from engine.config import ChatMessage


def prompt_messages(messages: Sequence[Message]) -> list[ChatMessage]:
    """Turns that alternate and end with the user's, as chat templates demand; empty if nobody asked.

    Empty answers (stopped or failed before the first word) are left out; of several answers to the same
    message the last one counts; messages sent one after the other become one turn.
    """
    turns: list[ChatMessage] = []
    for message in messages:
        if not message.text.strip():
            continue
        text = message.text
        if turns and turns[-1].role == message.role:
            previous = turns.pop().content
            if message.role == "user":
                text = f"{previous}\n\n{text}"
        turns.append(ChatMessage(message.role, text))
    while turns and turns[-1].role != "user":
        turns.pop()
    return turns


def is_answer_due(messages: Sequence[Message]) -> bool:
    """Whether the last turn is a user's message without an answer."""
    return bool(messages) and messages[-1].role == "user"


def title_of(text: str, most_characters: int = 60) -> str:
    """A title from the first line that says something."""
    line = next((each.strip() for each in text.splitlines() if each.strip()), "")
    line = " ".join(line.split())
    return line if len(line) <= most_characters else line[: most_characters - 1].rstrip() + "…"
