"""Thinking is open while it is made, folds itself, and opens with a click."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QUrl
from pytestqt.qtbot import QtBot

from app.chat.transcript import Transcript
from app.history.records import Message
from tests.support.document_words import answer_lines

LIVE = Message(2, 1, "assistant", "", "streaming", 0.0, None, "Model")
DONE = replace(
    LIVE, text="<think>\nhm\n\nso\n</think>\n\nYes", status="complete", stats={"thinking_seconds": 12.0}
)


@pytest.fixture
def transcript(qtbot: QtBot) -> Transcript:
    widget = Transcript()
    qtbot.addWidget(widget)
    widget.resize(500, 300)
    widget.show()
    return widget


def lines(transcript: Transcript) -> list[str]:
    return answer_lines(transcript.document())


def click(transcript: Transcript, target: str) -> None:
    transcript.anchorClicked.emit(QUrl(f"emberglass:{target}"))


def test_a_finished_answer_shows_how_long_it_thought_and_nothing_else(transcript: Transcript) -> None:
    transcript.show_messages([DONE])
    assert lines(transcript) == ["thinking: ▸ Thought for 12 s", "Yes"]


def test_a_click_opens_and_closes_it(transcript: Transcript) -> None:
    transcript.show_messages([DONE])
    click(transcript, "thinking/2")
    assert lines(transcript) == ["thinking: ▾ Thought for 12 s", "thinking: hm", "thinking: so", "Yes"]
    click(transcript, "thinking/2")
    assert lines(transcript) == ["thinking: ▸ Thought for 12 s", "Yes"]


def test_of_two_pieces_the_clicked_one_opens(transcript: Transcript) -> None:
    transcript.show_messages([replace(DONE, text="<think>a</think>b\n<think>c</think>d", stats=None)])
    click(transcript, "thinking/2/2")
    assert lines(transcript) == ["thinking: ▸ Thought", "b", "thinking: ▾ Thought", "thinking: c", "d"]


def test_it_stays_open_when_colours_change_and_closes_with_the_conversation(transcript: Transcript) -> None:
    transcript.show_messages([DONE])
    click(transcript, "thinking/2")
    transcript.refresh([DONE], None)
    assert "thinking: hm" in lines(transcript)
    transcript.show_messages([DONE])
    assert "thinking: hm" not in lines(transcript)


def test_thinking_is_read_while_it_is_made_and_folds_itself(transcript: Transcript) -> None:
    transcript.show_messages([LIVE], LIVE)
    for piece in ("<thi", "nk>\nfirst", " thought"):
        transcript.append_text(piece)
    assert lines(transcript) == ["thinking: ▾ Thinking…", "thinking: first thought"]
    for piece in ("\n</thi", "nk>\n\nThe ", "answer"):
        transcript.append_text(piece)
    fold, answer = lines(transcript)
    assert fold.startswith("thinking: ▸ Thought for ")
    assert answer == "The answer"


def test_a_click_folds_thinking_in_the_making(transcript: Transcript) -> None:
    transcript.show_messages([LIVE], LIVE)
    transcript.append_text("<think>first")
    click(transcript, "thinking/2")
    transcript.append_text(" more")
    assert lines(transcript) == ["thinking: ▸ Thinking…"]
    click(transcript, "thinking/2")
    assert lines(transcript) == ["thinking: ▾ Thinking…", "thinking: first more"]


def test_what_turns_out_to_be_thinking_moves_into_the_fold(transcript: Transcript) -> None:
    transcript.show_messages([LIVE], LIVE)
    transcript.append_text("hm\n\nhm ")
    assert lines(transcript) == ["hm", "hm"]
    transcript.append_text("</think>\nYes")
    assert [line.partition(" for ")[0] for line in lines(transcript)] == ["thinking: ▸ Thought", "Yes"]


def test_thinking_does_not_fold_under_the_readers_eyes(transcript: Transcript, qtbot: QtBot) -> None:
    transcript.show_messages([LIVE], LIVE)
    transcript.append_text("<think>" + "line\n" * 60)
    bar = transcript.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 100)
    bar.setValue(40)
    transcript.append_text("</think>Yes")
    assert bar.value() == 40
    assert lines(transcript)[0].startswith("thinking: ▾ Thought for ")
    assert lines(transcript)[-1] == "Yes"


def test_an_answer_stopped_while_thinking_says_so(transcript: Transcript) -> None:
    transcript.show_messages([replace(DONE, text="<think>hm", status="stopped", stats=None)])
    assert lines(transcript) == ["thinking: ▸ Thought, not finished"]
