"""Every link under a message says which message it is about."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt, QUrl
from pytestqt.qtbot import QtBot

from app.chat.transcript import Transcript
from app.history.records import Attachment, Message

USER = Message(11, 1, "user", "Question", "complete", 0.0, None, sibling_ids=(11,))
ANSWER = Message(12, 1, "assistant", "Answer", "complete", 0.0, None, "Model", sibling_ids=(12,))


@pytest.fixture
def transcript(qtbot: QtBot) -> Transcript:
    widget = Transcript()
    qtbot.addWidget(widget)
    widget.resize(500, 300)
    widget.show()
    return widget


def link_words(transcript: Transcript) -> list[str]:
    return [line for line in transcript.toPlainText().splitlines() if "Copy" in line]


def test_what_is_offered(transcript: Transcript) -> None:
    transcript.show_messages([USER, ANSWER])
    assert link_words(transcript) == [
        "Copy   Edit   Delete",
        "Copy   Answer again   Continue   Details   Delete",
    ]


def test_a_question_without_an_answer_offers_to_get_one(transcript: Transcript) -> None:
    transcript.show_messages([USER])
    assert link_words(transcript) == ["Copy   Edit   Get an answer   Delete"]


def test_an_answer_in_the_making_can_only_be_copied(
    transcript: Transcript,
) -> None:
    live = replace(ANSWER, status="streaming")
    transcript.show_messages([USER, live], live)
    assert link_words(transcript) == ["Copy   Edit   Delete", "Copy"]
    transcript.end_answer(ANSWER)
    assert link_words(transcript)[1] == "Copy   Answer again   Continue   Details   Delete"


@pytest.mark.parametrize(
    ("action", "signal"),
    [
        ("copy", "copy_wanted"),
        ("edit", "edit_wanted"),
        ("again", "again_wanted"),
        ("continue", "continue_wanted"),
        ("details", "details_wanted"),
        ("delete", "delete_wanted"),
        ("version", "version_wanted"),
    ],
)
def test_a_link_emits_its_signal_with_the_id(
    transcript: Transcript, qtbot: QtBot, action: str, signal: str
) -> None:
    transcript.show_messages([USER, ANSWER])
    with qtbot.waitSignal(getattr(transcript, signal)) as caught:
        transcript.anchorClicked.emit(QUrl(f"emberglass:{action}/12"))
    assert caught.args == [12]


@pytest.mark.parametrize(
    ("place", "words", "targets"),
    [
        (0, "‹ 1/3 ›   Copy", [22]),
        (1, "‹ 2/3 ›   Copy", [21, 23]),
        (2, "‹ 3/3 ›   Copy", [22]),
    ],
)
def test_versions_have_arrows_to_their_neighbours(
    transcript: Transcript, place: int, words: str, targets: list[int]
) -> None:
    transcript.show_messages([USER, replace(ANSWER, id=21 + place, sibling_ids=(21, 22, 23))])
    assert link_words(transcript)[1].startswith(words)
    html = transcript.toHtml()
    assert [number for number in (21, 22, 23) if f"emberglass:version/{number}" in html] == targets


def test_attachments_are_named_with_their_size(transcript: Transcript) -> None:
    files = (Attachment("notes.txt", "é" * 1024), Attachment("a.py", "x"))
    transcript.show_messages([replace(USER, attachments=files)])
    assert "notes.txt · 2 KiB" in transcript.toPlainText().replace("\u00a0", " ")
    assert "a.py · 1 B" in transcript.toPlainText().replace("\u00a0", " ")
    assert "é" not in transcript.toPlainText()


def test_the_keyboard_reaches_and_follows_links(transcript: Transcript, qtbot: QtBot) -> None:
    transcript.show_messages([USER, ANSWER])
    transcript.setFocus()
    qtbot.keyClick(transcript, Qt.Key.Key_Tab)
    qtbot.keyClick(transcript, Qt.Key.Key_Tab)
    with qtbot.waitSignal(transcript.edit_wanted) as caught:
        qtbot.keyClick(transcript, Qt.Key.Key_Return)
    assert caught.args == [11]
