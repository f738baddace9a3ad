"""Turns for the model: alternating, ending with the user's, whatever happened in the conversation."""

from __future__ import annotations

import pytest

from app.chat.prompt_messages import is_answer_due, prompt_messages, title_of
from app.history.records import Attachment, Message


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


def test_thinking_of_earlier_answers_is_left_out() -> None:
    turns = conversation(
        ("user", "a"), ("assistant", "<think>\nhm\n</think>\n\nb"), ("user", "<think>mine</think>"),
        ("assistant", "<think>only thoughts"), ("user", "c"),
    )  # fmt: skip
    assert [(each.role, each.content) for each in prompt_messages(turns)] == [
        ("user", "a"),
        ("assistant", "b"),
        ("user", "<think>mine</think>\n\nc"),
    ]


def test_files_come_with_their_message() -> None:
    file = Attachment("a.txt", "A")
    message = Message(1, 1, "user", "Look.", "complete", 0.0, None, attachments=(file,))
    assert prompt_messages([message])[0].content == "a.txt:\n```txt\nA\n```\n\nLook."
    bare = Message(1, 1, "user", "", "complete", 0.0, None, attachments=(file,))
    assert prompt_messages([bare])[0].content == "a.txt:\n```txt\nA\n```"


@pytest.mark.parametrize("text", ["b", "<think>\nhm", ""])
def test_a_continued_answer_comes_word_for_word(text: str) -> None:
    turns = conversation(
        ("user", "a"), ("assistant", "<think>x</think>y"), ("user", "c"), ("assistant", text)
    )
    assert [each.content for each in prompt_messages(turns, is_continuation=True)] == ["a", "y", "c", text]


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
