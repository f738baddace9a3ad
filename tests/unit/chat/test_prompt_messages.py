"""Turns for the model: alternating, ending with the user's, whatever happened in the conversation."""

from __future__ import annotations

import pytest

from app.chat.prompt_messages import is_answer_due, prompt_messages, title_of
from app.history.records import Message


def conversation(*turns: tuple[str, str]) -> list[Message]:
    return [Message(n, 1, role, text, "complete", 0.0, None) for n, (role, text) in enumerate(turns)]


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([], []),
        ([("user", "a")], [("user", "a")]),
        ([("user", "a"), ("assistant", "b")], [("user", "a")]),
        ([("user", "a"), ("assistant", ""), ("user", "c")], [("user", "a\n\nc")]),
        (
            [("user", "a"), ("assistant", "b"), ("assistant", "b2"), ("user", "c")],
            [("user", "a"), ("assistant", "b2"), ("user", "c")],
        ),
        ([("assistant", "b")], []),
        ([("user", " \n")], []),
    ],
)
def test_turns(turns: list[tuple[str, str]], expected: list[tuple[str, str]]) -> None:
    assert [(each.role, each.content) for each in prompt_messages(conversation(*turns))] == expected


def test_an_answer_is_due_only_after_the_user() -> None:
    assert is_answer_due(conversation(("user", "a")))
    assert not is_answer_due(conversation(("user", "a"), ("assistant", "")))
    assert not is_answer_due([])


@pytest.mark.parametrize(
    ("text", "title"),
    [("\n  Hello   there \nmore", "Hello there"), ("x" * 70, "x" * 59 + "…"), ("  \n", ""), ("専門", "専門")],
)
def test_title(text: str, title: str) -> None:
    assert title_of(text) == title
