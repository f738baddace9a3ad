"""An answer that arrives in pieces ends up looking as if it had come at once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytestqt.qtbot import QtBot

from app.chat.transcript import Transcript
from app.history.records import Message
from tests.support.document_words import answer_lines

LIVE = Message(2, 1, "assistant", "", "streaming", 0.0, None, "Model")

ANSWERS = {
    "blocks": "# Head\n\nOne **bold** and *thin* `code`\nnext line\n\n---\n\n> quote\n> more\n\nEnd",
    "lists": "1. one\n2. two\n   - deep\n   - deeper\n\n     more\n3. three\n\n- [ ] to do\n\nText",
    "same numbers": "1. a\n1. b\n1. c\n",
    "code": "Before\n\n```python\nx = 1\n\n  y = 2\n```\n\n~~~\n```\n~~~\n\n    indented\n\nAfter",
    "code without an end": "```c\nint x;\n\nint y;\n",
    "code in a list": "- a\n\n  ```sh\n  ls\n  ```\n- b\n",
    "table": "| a | b |\n|:--|--:|\n| 1 | **2** |\n| 3 | 4 |\n\nAfter\n\n| c |\n|---|\n| 5 |\n",
    "table last": "Text\n| a | b |\n|---|---|\n| 1 | 2 |",
    "formulas": "Say $x^2$ and \\(y\\)\n\n$$\n\\frac{a}{b}\n\n- c\n$$\n\n\\[ z \\]\n\n$5 and $10",
    "headings under lines": "Title\n=====\n\nSub\n---\n\ntext\n-",
    "late definitions": "See [one] and [two].\n\nMore\n\n[one]: https://one.org\n[two]: https://two.org\n",
    "thinking": "<think>\nhm\n\nhm </think>\n\nAnswer **x**\n\n<think>again</think>\n\n- b",
    "thinking without opening": "hm\n\nhm\n</think>\nAnswer",
    "open thinking": "<think>hm",
    "japanese": "これは**太字**です。\n\n1. 一\n2. 二\n\n| 名 | 値 |\n|---|---|\n| あ | い |\n",
}


@pytest.fixture
def pair(qtbot: QtBot) -> tuple[Transcript, Transcript]:
    widgets = Transcript(), Transcript()
    for widget in widgets:
        qtbot.addWidget(widget)
    return widgets


def streamed(transcript: Transcript, parts: list[str]) -> list[str]:
    transcript.show_messages([LIVE], LIVE)
    for part in parts:
        transcript.append_text(part)
    transcript.end_answer(replace(LIVE, text="".join(parts), status="complete"))
    return lines_of(transcript)


def at_once(transcript: Transcript, text: str) -> list[str]:
    transcript.show_messages([replace(LIVE, text=text, status="complete")])
    return lines_of(transcript)


def lines_of(transcript: Transcript) -> list[str]:
    lines = answer_lines(transcript.document())
    return [line.partition(" for ")[0] if line.startswith("thinking: ▸") else line for line in lines]


@pytest.mark.parametrize("length", [1, 3, 7, 40])
@pytest.mark.parametrize("name", ANSWERS)
def test_pieces_make_the_whole(pair: tuple[Transcript, Transcript], name: str, length: int) -> None:
    text = ANSWERS[name]
    parts = [text[start : start + length] for start in range(0, len(text), length)]
    assert [line.replace(", not finished", "") for line in streamed(pair[0], parts)] == [
        line.replace(", not finished", "") for line in at_once(pair[1], text)
    ]


PIECES = ["word ", "\n", "\n\n", "```\n", "- x", "1. y\n", "   ", "| c |\n", "|---|\n", "**", "$$", "> "]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(PIECES), max_size=14))
def test_any_pieces_make_the_whole(pair: tuple[Transcript, Transcript], parts: list[str]) -> None:
    assert streamed(pair[0], parts) == at_once(pair[1], "".join(parts))


def test_a_finished_block_is_not_written_again(pair: tuple[Transcript, Transcript]) -> None:
    transcript = pair[0]
    transcript.show_messages([LIVE], LIVE)
    transcript.append_text("First\n\nSecond\n\nThird")
    changed: list[int] = []
    transcript.document().contentsChange.connect(lambda position, _removed, _added: changed.append(position))
    first_end = transcript.document().find("Second").selectionEnd()
    for piece in (" more", " and more", "\n\nFourth", " end"):
        transcript.append_text(piece)
    assert min(changed) >= first_end


def test_a_marker_is_not_shown_before_it_is_known_what_it_is(pair: tuple[Transcript, Transcript]) -> None:
    transcript = pair[0]
    transcript.show_messages([LIVE], LIVE)
    transcript.append_text("Text\n-")
    assert lines_of(transcript) == ["Text"]
    transcript.append_text(" item")
    assert lines_of(transcript) == ["Text", "• item"]
    transcript.append_text("\n\n| a | b")
    assert lines_of(transcript) == ["Text", "• item"]
    transcript.append_text(" |\n|--|--|\n")
    assert lines_of(transcript) == ["Text", "• item", "table 1x2", "**a**", "**b**"]
