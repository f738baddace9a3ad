"""A selection is copied as what was said, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QTextCursor
from pytestqt.qtbot import QtBot

from app.chat.selected_text import selected_text
from app.chat.transcript import Transcript
from app.history.records import Attachment, Message

USER = Message(1, 1, "user", "First\n\n  **raw** line", "complete", 0.0, None)
LIVE = Message(2, 1, "assistant", "", "streaming", 0.0, None, "Model")
STATS = {"prompt_tokens": 7, "completion_tokens": 3, "thinking_seconds": 3.0}
ANSWER = "Some **bold** and *thin* `code`.\n\n- a\n- b\n\n```python\nx = 1\n\ny = 2\n```\n\nEnd"


@pytest.fixture
def transcript(qtbot: QtBot) -> Transcript:
    widget = Transcript()
    qtbot.addWidget(widget)
    widget.resize(500, 300)
    widget.show()
    return widget


def everything(transcript: Transcript, is_markdown: bool = False) -> str:
    transcript.selectAll()
    return selected_text(transcript.textCursor(), is_markdown)


def shown(transcript: Transcript, text: str) -> Transcript:
    transcript.show_messages([replace(LIVE, text=text, status="complete", stats=STATS)])
    return transcript


def select(transcript: Transcript, first: str, last: str) -> QTextCursor:
    """From the start of some words to the end of others."""
    cursor = transcript.document().find(first)
    cursor.setPosition(cursor.selectionStart())
    end = transcript.document().find(last, cursor).selectionEnd()
    cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
    transcript.setTextCursor(cursor)
    return cursor


def test_across_messages_it_says_who_said_what(transcript: Transcript) -> None:
    user = replace(USER, attachments=(Attachment("notes.txt", "x"),))
    answer = replace(LIVE, text=ANSWER, status="stopped", stats=STATS)
    transcript.show_messages([user, answer])
    assert everything(transcript) == (
        "You:\n\nFirst\n\n  **raw** line\n\nModel:\n\n"
        "Some bold and thin code.\n\n- a\n- b\n\nx = 1\n\ny = 2\n\nEnd"
    )


def test_as_markdown_it_makes_the_same_again(transcript: Transcript) -> None:
    assert everything(shown(transcript, ANSWER), is_markdown=True) == ANSWER


@pytest.mark.parametrize(
    "text",
    [
        "# Head\n\nText",
        "1. a\n2. b\n   - c",
        "- [ ] a\n- [x] b",
        "> quote",
        "| a | b |\n|---|---|\n| 1 | **2** |",
        "[w](https://w.org) and https://w.org",
        "![a](https://w.org/a.png)",
        "~~a~~",
        "a\n\n---\n\nb",
        "$x^2$ and \\(y\\)\n\n$$\nz\n$$",
        "```\nplain\n```",
        "日本語の**太字**です",
    ],
)
def test_markdown_comes_back(transcript: Transcript, text: str) -> None:
    assert everything(shown(transcript, text), is_markdown=True) == text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("# Head\n\nText", "Head\n\nText"),
        ("1. a\n2. b", "1. a\n2. b"),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\nAfter", "a\tb\n1\t2\n\nAfter"),
        ("[w](https://w.org)", "w"),
        ("Say $x^2$.", "Say $x^2$."),
        ("a  \nb", "a\nb"),
        ("Yes<|im_end|>", "Yes"),
    ],
)
def test_plain_text(transcript: Transcript, text: str, plain: str) -> None:
    assert everything(shown(transcript, text)) == plain


def test_drawn_formulas_are_copied_as_they_were_written(transcript: Transcript, qtbot: QtBot) -> None:
    shown(transcript, "Say $x^2$.")
    qtbot.waitUntil(lambda: "\ufffc" in transcript.document().toRawText(), timeout=5_000)
    assert everything(transcript) == "Say $x^2$."


def test_opened_thinking_is_never_copied(transcript: Transcript) -> None:
    shown(transcript, "<think>secret\n\nsecret</think>Yes")
    transcript.show_messages([LIVE], LIVE)
    transcript.append_text("<think>secret\n\nsecret")
    assert everything(transcript) == ""
    transcript.append_text("</think>Yes")
    assert everything(transcript) == "Yes"


def test_it_can_be_copied_while_it_streams(transcript: Transcript) -> None:
    transcript.show_messages([USER, LIVE], LIVE)
    transcript.append_text("One **two**\n\nthr")
    cursor = select(transcript, "One", "two")
    transcript.append_text("ee\n\nfour")
    assert selected_text(transcript.textCursor()) == "One two"
    assert cursor.hasSelection()
    assert everything(transcript).endswith("Model:\n\nOne two\n\nthree\n\nfour")


def test_parts_of_blocks_cells_and_code(transcript: Transcript) -> None:
    table, code = "| ab | cd |\n|---|---|\n| ef | gh |\n\n", "```py\nlong = 1\nmore = 2\n```"
    shown(transcript, f"Some **bold** words 🙂 here\n\n{table}{code}")
    assert selected_text(select(transcript, "old", "🙂 he")) == "old words 🙂 he"
    assert selected_text(select(transcript, "ol", "wor"), is_markdown=True) == "**old** wor"
    assert selected_text(select(transcript, "ef", "ef")) == "ef"
    assert selected_text(select(transcript, "ng = 1", "more")) == "ng = 1\nmore"
    assert selected_text(select(transcript, "here", "ab")).startswith("here\n\nab")


def test_the_copy_key_copies_it(transcript: Transcript, qtbot: QtBot) -> None:
    shown(transcript, ANSWER)
    select(transcript, "Some", "code")
    qtbot.keyClick(transcript, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    data = QGuiApplication.clipboard().mimeData()
    assert data.text() == "Some bold and thin code"
    assert not data.hasHtml()
    transcript.copy_markdown()
    assert QGuiApplication.clipboard().text() == "Some **bold** and *thin* `code`"


def test_dragged_text_is_the_same(transcript: Transcript) -> None:
    shown(transcript, ANSWER)
    select(transcript, "Some", "code")
    data = transcript.createMimeDataFromSelection()
    assert data.text() == "Some bold and thin code"
