"""The view follows the end only while the reader is there, and otherwise leaves the reader alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt, QUrl
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from app.chat.transcript import Transcript
from app.history.records import Message

LIVE = Message(20, 1, "assistant", "", "streaming", 0.0, None, "Model")
TURNS = [
    Message(
        n, 1, "user" if n % 2 else "assistant", f"Turn {n}. " + "many words " * 40, "complete", 0.0, None, "M"
    )
    for n in range(1, 20)
]


@pytest.fixture
def transcript(qtbot: QtBot) -> Transcript:
    widget = Transcript()
    qtbot.addWidget(widget)
    widget.resize(600, 300)
    widget.show()
    widget.show_messages([*TURNS, LIVE], LIVE)
    qtbot.waitUntil(lambda: widget.verticalScrollBar().maximum() > 1_000)
    return widget


def top_words(transcript: Transcript) -> str:
    """The first words of the line that stands at the top."""
    cursor = transcript.cursorForPosition(QPoint(0, 2))
    return cursor.block().text()[:9]


def is_at_end(transcript: Transcript) -> bool:
    bar = transcript.verticalScrollBar()
    return bar.value() == bar.maximum()


def read_turn(transcript: Transcript, words: str) -> None:
    cursor = transcript.document().find(words)
    rect = transcript.document().documentLayout().blockBoundingRect(cursor.block())
    transcript.verticalScrollBar().setValue(round(rect.top()))
    assert top_words(transcript) == words


def test_the_end_is_followed_while_text_arrives(transcript: Transcript, qtbot: QtBot) -> None:
    most = transcript.verticalScrollBar().maximum()
    for number in range(30):
        transcript.append_text(f"- item {number}\n")
    qtbot.waitUntil(lambda: transcript.verticalScrollBar().maximum() > most)
    assert is_at_end(transcript)
    assert transcript.is_following


CHANGES: dict[str, Callable[[Transcript], None]] = {
    "text": lambda transcript: transcript.append_text("# Head\n\nmore\n\n| a |\n|---|\n| 1 |\n"),
    "end": lambda transcript: transcript.end_answer(replace(LIVE, text="short", status="complete")),
    "message": lambda transcript: transcript.add_message(replace(TURNS[0], id=30)),
    "colours": lambda transcript: transcript.refresh([*TURNS, LIVE], LIVE),
    "width": lambda transcript: transcript.resize(900, 300),
    "height": lambda transcript: transcript.resize(600, 500),
    "deleted turn": lambda transcript: transcript.refresh([*TURNS[2:], LIVE], LIVE),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_reader_further_up_is_left_alone(transcript: Transcript, qtbot: QtBot, change: str) -> None:
    read_turn(transcript, "Turn 10. ")
    CHANGES[change](transcript)
    qtbot.wait(10)
    assert top_words(transcript) == "Turn 10. "
    assert not transcript.is_following


def test_larger_text_keeps_the_turn_at_the_top(transcript: Transcript, qtbot: QtBot) -> None:
    read_turn(transcript, "Turn 10. ")
    transcript.colours_changed.connect(lambda: transcript.refresh([*TURNS, LIVE], LIVE))
    font = transcript.font()
    font.setPointSizeF(font.pointSizeF() * 1.5)
    transcript.setFont(font)
    qtbot.wait(10)
    assert top_words(transcript) == "Turn 10. "


def test_a_resize_at_the_end_stays_at_the_end(transcript: Transcript, qtbot: QtBot) -> None:
    transcript.resize(400, 250)
    qtbot.waitUntil(lambda: is_at_end(transcript))
    assert transcript.is_following


def test_the_button_leads_back_to_the_end(transcript: Transcript, qtbot: QtBot) -> None:
    (button,) = transcript.findChildren(QPushButton)
    assert not button.isVisible()
    read_turn(transcript, "Turn 10. ")
    assert button.isVisible()
    assert button.text() == "↓ Jump to latest"
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: is_at_end(transcript), timeout=1000)
    assert not button.isVisible()


def test_earlier_messages_appear_above_the_one_being_read(transcript: Transcript, qtbot: QtBot) -> None:
    turns = [replace(TURNS[0], id=n, text=f"Turn {n:03}. " + "w " * 99) for n in range(100)]
    transcript.show_messages(turns)
    transcript.verticalScrollBar().setValue(0)
    before = transcript.cursorForPosition(QPoint(40, 150)).block().text()[:9]
    transcript.anchorClicked.emit(QUrl("emberglass:earlier/0"))
    qtbot.wait(10)
    shown = "".join(transcript.cursorForPosition(QPoint(40, y)).block().text()[:9] for y in range(0, 300, 20))
    assert before in shown
    assert not transcript.is_following
