"""The transcript renders answers safely, replaces the streamed text by them, and scrolls only when asked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication, QTextCursor, QTextTable
from pytestqt.qtbot import QtBot

from app.chat.transcript import Transcript
from app.history.records import Message

FENCED = "Before\n\n```python\nx = 1\n  y = 2\n```\n\nAfter"


def message(number: int, role: str, text: str, status: str = "complete") -> Message:
    return Message(number, 1, role, text, status, 0.0, None, "Model" if role == "assistant" else "")


@pytest.fixture
def transcript(qtbot: QtBot) -> Transcript:
    widget = Transcript()
    qtbot.addWidget(widget)
    widget.resize(600, 300)
    widget.show()
    return widget


def links(transcript: Transcript) -> list[str]:
    found = []
    block = transcript.document().begin()
    while block.isValid():
        iterator = block.begin()
        while not iterator.atEnd():
            if iterator.fragment().charFormat().isAnchor():
                found.append(iterator.fragment().charFormat().anchorHref())
            iterator += 1
        block = block.next()
    return found


def test_the_rendered_answer_replaces_the_streamed_text(transcript: Transcript) -> None:
    for number in (1, 3):
        transcript.add_message(message(number, "user", "question"))
        live = message(number + 1, "assistant", "", "streaming")
        transcript.add_message(live, is_live=True)
        for part in ("Some **bo", "ld** words\n", "\n- item\n"):
            transcript.append_text(part)
        assert "Some bold words" in transcript.toPlainText()
        transcript.end_answer(replace(live, text="Some **bold** words\n\n- item\n", status="complete"))
    text = transcript.toPlainText()
    assert "**" not in text
    assert text.count("Some bold words") == text.count("item") == 2


def test_a_message_sent_meanwhile_stays_below_the_answer(transcript: Transcript) -> None:
    live = message(2, "assistant", "", "streaming")
    transcript.show_messages([message(1, "user", "first"), live], live)
    transcript.append_text("answer ")
    transcript.add_message(message(3, "user", "second"))
    transcript.append_text("goes on")
    text = transcript.toPlainText()
    assert text.index("answer goes on") < text.index("second")
    transcript.end_answer(replace(live, text="answer goes *on*", status="complete"))
    text = transcript.toPlainText()
    assert text.index("answer goes on") < text.index("second")


def test_users_text_is_never_taken_as_markup(transcript: Transcript) -> None:
    transcript.show_messages([message(1, "user", "<b>bold</b> **stars** [x](http://y)")])
    assert "<b>bold</b> **stars** [x](http://y)" in transcript.toPlainText()


def test_html_and_pictures_of_an_answer_stay_text_and_bad_links_are_disarmed(transcript: Transcript) -> None:
    answer = "<script>x</script> ![p](file:///etc/passwd) [f](file:///etc) [e](emberglass:copy/1) [w](https://w.org)"
    transcript.show_messages([message(1, "user", "q"), message(2, "assistant", answer)])
    assert "<script>x</script>" in transcript.toPlainText()
    assert "![p](file:///etc/passwd)" in transcript.toPlainText()
    assert [link for link in links(transcript) if not link.startswith("emberglass:")] == ["https://w.org"]
    assert [link for link in links(transcript) if link.startswith("emberglass:copy")] == [
        "emberglass:copy/1",
        "emberglass:copy/2",
    ]


def test_a_picture_on_the_web_is_named_but_not_fetched(transcript: Transcript) -> None:
    transcript.show_messages([message(2, "assistant", "![a cat](https://w.org/cat.png)")])
    assert "[picture: a cat: https://w.org/cat.png]" in transcript.toPlainText()
    assert "￼" not in transcript.toPlainText()


def test_web_links_open_in_the_browser(transcript: Transcript, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toString()))
    transcript.anchorClicked.emit(QUrl("https://w.org/a"))
    assert opened == ["https://w.org/a"]


@pytest.mark.parametrize("text", [FENCED, FENCED.partition("\n\n")[2]])
def test_code_is_copied_exactly(transcript: Transcript, text: str) -> None:
    transcript.show_messages([message(1, "user", "q"), message(2, "assistant", text)])
    assert "python    Copy code" in transcript.toPlainText()
    (link,) = [each for each in links(transcript) if each.startswith("emberglass:code/")]
    transcript.anchorClicked.emit(QUrl(link))
    assert QGuiApplication.clipboard().text() == "x = 1\n  y = 2"


def test_every_code_line_is_in_a_fixed_font_also_at_the_start_of_an_answer(transcript: Transcript) -> None:
    transcript.show_messages([message(2, "assistant", "```\none\ntwo\n```")])
    cursor = transcript.document().find("one")
    assert cursor.charFormat().fontFixedPitch()
    assert transcript.document().find("two").charFormat().fontFixedPitch()


def test_tables_have_lines(transcript: Transcript) -> None:
    transcript.show_messages([message(2, "assistant", "| a | b |\n|---|---|\n| 1 | 2 |\n")])
    (table,) = [
        frame for frame in transcript.document().rootFrame().childFrames() if isinstance(frame, QTextTable)
    ]
    assert (table.rows(), table.columns(), table.format().border()) == (2, 2, 1)


def test_the_view_follows_only_while_the_reader_is_at_the_end(transcript: Transcript, qtbot: QtBot) -> None:
    live = message(2, "assistant", "line\n" * 80, "streaming")
    transcript.show_messages([message(1, "user", "q"), live], live)
    bar = transcript.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0 and bar.value() == bar.maximum())
    transcript.append_text("more\n" * 40)
    qtbot.waitUntil(lambda: bar.value() == bar.maximum())
    bar.setValue(bar.maximum() // 2)
    place, most = bar.value(), bar.maximum()
    assert not transcript.is_following
    transcript.append_text("more\n" * 40)
    qtbot.waitUntil(lambda: bar.maximum() > most)
    transcript.end_answer(replace(live, text="line\n\n" * 200, status="complete"))
    assert bar.value() == place
    transcript.jump_to_end()
    assert transcript.is_following
    assert bar.value() == bar.maximum()


def test_a_long_conversation_opens_with_its_latest_part(transcript: Transcript) -> None:
    turns = [message(n, "user" if n % 2 else "assistant", f"text number {n}.") for n in range(1, 101)]
    transcript.show_messages(turns)
    assert "Show 60 earlier messages" in transcript.toPlainText()
    assert "text number 60." not in transcript.toPlainText()
    assert "text number 61." in transcript.toPlainText()
    transcript.anchorClicked.emit(QUrl("emberglass:earlier/0"))
    assert "text number 21." in transcript.toPlainText()
    assert "Show 20 earlier messages" in transcript.toPlainText()


def test_selected_text_is_copied_as_plain_text(transcript: Transcript) -> None:
    transcript.show_messages([message(2, "assistant", "Some **bold** words")])
    cursor = transcript.document().find("Some bold words")
    assert isinstance(cursor, QTextCursor)
    transcript.setTextCursor(cursor)
    transcript.copy()
    data = QGuiApplication.clipboard().mimeData()
    assert data.text() == "Some bold words"
    assert not data.hasHtml()


def test_finished_blocks_are_rendered_while_the_rest_still_streams(transcript: Transcript) -> None:
    live = message(2, "assistant", "", "streaming")
    transcript.show_messages([message(1, "user", "q"), live], live)
    answer = f"Some **bold** words\n\n{FENCED}\n\n- item\n\nThe *end"
    for character in answer:
        transcript.append_text(character)
    streamed = transcript.toPlainText()
    assert "Some bold words" in streamed
    assert "```" not in streamed
    assert streamed.count("x = 1") == streamed.count("item") == 1
    assert "The *end\nCopy" in streamed
    transcript.end_answer(replace(live, text=answer + "*", status="complete"))
    ended = transcript.toPlainText()
    transcript.show_messages([message(1, "user", "q"), message(2, "assistant", answer + "*")])
    assert transcript.toPlainText() == ended


def test_only_the_last_answer_offers_to_go_on(transcript: Transcript) -> None:
    stopped = message(2, "assistant", "half", "stopped")
    transcript.show_messages([message(1, "user", "q"), stopped])
    assert "emberglass:continue/2" in links(transcript)
    transcript.add_message(message(3, "user", "next"))
    assert "emberglass:continue/2" not in links(transcript)
    assert "emberglass:again/3" in links(transcript)
    assert "half" in transcript.toPlainText()
    assert transcript.toPlainText().count("Stopped.") == 1
