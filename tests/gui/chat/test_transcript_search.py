"""Words are found in the whole conversation, and only in what was said."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from app.chat.transcript import Transcript
from app.history.records import Message

USER = Message(1, 1, "user", "Copy the apple", "complete", 0.0, None)
ANSWER = Message(
    2, 1, "assistant", "An **App**le a day.\n\n- りんごとアップル", "complete", 0.0, None, "Apple model"
)


@pytest.fixture
def transcript(qtbot: QtBot) -> Transcript:
    widget = Transcript()
    qtbot.addWidget(widget)
    widget.resize(500, 300)
    widget.show()
    widget.show_messages([USER, ANSWER])
    return widget


def found(transcript: Transcript) -> tuple[str, str]:
    """What is selected, and the line it stands in."""
    cursor = transcript.textCursor()
    return cursor.selectedText(), cursor.block().text()


def test_matches_come_in_order_and_begin_anew(transcript: Transcript) -> None:
    lines = []
    for _ in range(3):
        assert transcript.find("apple")
        lines.append(found(transcript))
    assert lines == [("apple", "Copy the apple"), ("Apple", "An Apple a day."), ("apple", "Copy the apple")]


def test_backwards_too(transcript: Transcript) -> None:
    assert transcript.find("apple", backward=True)
    assert found(transcript) == ("Apple", "An Apple a day.")
    assert transcript.find("apple", backward=True)
    assert found(transcript) == ("apple", "Copy the apple")


@pytest.mark.parametrize(
    ("text", "count"),
    [("apple", 2), ("APPLE", 2), ("copy", 1), ("ん", 1), ("りんご", 1), ("delete", 0), ("model", 0), ("", 0)],
)
def test_only_what_was_said_is_counted(transcript: Transcript, text: str, count: int) -> None:
    assert transcript.match_count(text) == count
    assert transcript.find(text) is (count > 0)


def test_a_missing_word_leaves_the_selection(transcript: Transcript) -> None:
    transcript.find("apple")
    assert not transcript.find("pear")
    assert found(transcript)[0] == "apple"


def test_thinking_is_not_searched(transcript: Transcript) -> None:
    transcript.show_messages([replace(ANSWER, text="<think>pear</think>plum")])
    assert not transcript.find("pear")
    assert transcript.match_count("pear") == 0


@pytest.fixture
def long_transcript(transcript: Transcript) -> Transcript:
    """Only the latest of 200 turns are shown; three earlier ones hold the word."""
    texts = {3: "needle three", 90: "needle ninety", 190: "needle late"}
    turns = [replace(USER, id=n, text=texts.get(n, f"turn {n}")) for n in range(1, 201)]
    transcript.show_messages(turns)
    assert "needle three" not in transcript.toPlainText()
    return transcript


def test_earlier_messages_are_counted_and_shown_when_it_is_their_turn(long_transcript: Transcript) -> None:
    assert long_transcript.match_count("needle") == 3
    order = []
    for _ in range(4):
        assert long_transcript.find("needle")
        order.append(found(long_transcript)[1])
    assert order == ["needle three", "needle ninety", "needle late", "needle three"]
    assert long_transcript.match_count("needle") == 3


def test_backwards_only_as_much_is_shown_as_is_needed(long_transcript: Transcript) -> None:
    order = []
    for _ in range(2):
        assert long_transcript.find("needle", backward=True)
        order.append(found(long_transcript)[1])
    assert order == ["needle late", "needle ninety"]
    assert "needle three" not in long_transcript.toPlainText()
    assert long_transcript.find("needle", backward=True)
    assert found(long_transcript)[1] == "needle three"


def test_a_match_is_scrolled_into_view(long_transcript: Transcript) -> None:
    long_transcript.find("needle")
    long_transcript.find("needle")
    rect = long_transcript.cursorRect()
    assert long_transcript.viewport().rect().contains(rect.center())
    assert not long_transcript.is_following
