"""Code blocks are coloured when they are finished, copied exactly, and wrapped or not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QGuiApplication, QPalette, QTextBlock
from pytestqt.qtbot import QtBot

from app.chat.block_pen import CODE_ID
from app.chat.code_colours import _COLOURS, CodeColours, coloured_lines, is_ready
from app.chat.code_painter import LONGEST_CODE
from app.chat.text_colours import TextColours, contrast
from app.chat.transcript import Transcript
from app.history.records import Message
from app.theme import palette_of
from tests.support.document_words import blocks_of

LIVE = Message(2, 1, "assistant", "", "streaming", 0.0, None, "Model")


@pytest.fixture
def transcript(qtbot: QtBot) -> Transcript:
    widget = Transcript()
    qtbot.addWidget(widget)
    widget.resize(500, 300)
    widget.show()
    return widget


def show(transcript: Transcript, text: str) -> None:
    transcript.show_messages([replace(LIVE, text=text, status="complete")])


def line_of(transcript: Transcript, words: str) -> QTextBlock:
    return next(block for block in blocks_of(transcript.document()) if block.text() == words)


def coloured(transcript: Transcript, words: str) -> list[str]:
    """The parts of a line that have a colour of their own."""
    layout = line_of(transcript, words).layout()
    return [words[each.start : each.start + each.length] for each in layout.formats()]


def test_finished_code_is_coloured(transcript: Transcript, qtbot: QtBot) -> None:
    show(transcript, "```python\nreturn 12 # why\n```")
    qtbot.waitUntil(lambda: coloured(transcript, "return 12 # why") == ["return", "12", "# why"])


def test_signs_of_two_units_do_not_shift_the_colours(transcript: Transcript, qtbot: QtBot) -> None:
    show(transcript, '```python\nx = "🙂" # c\n```')
    line = line_of(transcript, 'x = "🙂" # c')
    qtbot.waitUntil(lambda: bool(line.layout().formats()))
    last = line.layout().formats()[-1]
    assert (last.start, last.length) == (9, 3)


def test_code_in_the_making_is_not_coloured(transcript: Transcript, qtbot: QtBot) -> None:
    transcript.show_messages([LIVE], LIVE)
    transcript.append_text("```python\nreturn 1\n")
    qtbot.wait(20)
    assert coloured(transcript, "return 1") == []
    transcript.append_text("```\n")
    qtbot.waitUntil(lambda: coloured(transcript, "return 1") == ["return", "1"])


@pytest.mark.parametrize("text", ["```\nreturn 1\n```", "```nosuchlanguage\nreturn 1\n```"])
def test_code_of_no_known_language_stays_plain(transcript: Transcript, qtbot: QtBot, text: str) -> None:
    show(transcript, text + "\n\n```python\nreturn 2\n```")
    qtbot.waitUntil(lambda: coloured(transcript, "return 2") != [])
    assert coloured(transcript, "return 1") == []


def test_very_long_code_stays_plain(transcript: Transcript, qtbot: QtBot) -> None:
    show(transcript, "```python\n" + "return 1\n" * (LONGEST_CODE // 8) + "```\n\n```python\nreturn 2\n```")
    qtbot.waitUntil(lambda: coloured(transcript, "return 2") != [])
    assert coloured(transcript, "return 1") == []


@pytest.mark.parametrize("is_dark", [False, True])
def test_every_colour_can_be_read_on_code(is_dark: bool) -> None:
    colours = TextColours.of(palette_of(is_dark))
    for kind in _COLOURS:
        style = CodeColours(colours).of(kind)
        assert style is not None
        assert contrast(style.foreground().color(), colours.code) >= 4.5


@pytest.mark.parametrize("is_dark", [False, True])
def test_all_words_can_be_read_where_they_stand(is_dark: bool) -> None:
    palette = palette_of(is_dark)
    colours = TextColours.of(palette)
    base = palette.color(QPalette.ColorRole.Base)
    for ground in (base, colours.code, colours.user):
        for words in (colours.text, colours.muted, colours.link):
            assert contrast(words, ground) >= 4.5
    assert contrast(colours.fault, base) >= 4.5


def test_contrast_is_that_of_the_web_guidelines() -> None:
    light = TextColours.of(palette_of(False))
    black, white = light.text.fromRgb(0, 0, 0), light.text.fromRgb(255, 255, 255)
    assert contrast(black, white) == pytest.approx(21)
    assert contrast(light.text.fromRgb(0x77, 0x77, 0x77), white) == pytest.approx(4.48, abs=0.01)


def test_kinds_fall_back_to_what_they_belong_to() -> None:
    colours = CodeColours(TextColours.of(palette_of(False)))
    assert colours.of("Token.Comment.Single") == colours.of("Token.Comment")
    assert colours.of("Token.Keyword.Type") != colours.of("Token.Keyword")
    assert colours.of("Token.Text") is None


def test_lines_of_code_keep_their_number(qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: is_ready("python"))
    code = '"""a\nb"""\n\nx = 1'
    assert len(list(coloured_lines(code, "python"))) == code.count("\n") + 1


def test_code_keeps_tabs_and_blank_lines_when_copied(transcript: Transcript) -> None:
    show(transcript, "```make\n\nall:\n\techo  'x'\n\n```")
    (code_id,) = {block.blockFormat().intProperty(CODE_ID) for block in blocks_of(transcript.document())} - {
        0
    }
    transcript.anchorClicked.emit(QUrl(f"emberglass:code/{code_id}"))
    assert QGuiApplication.clipboard().text() == "\nall:\n\techo  'x'\n"


def test_long_lines_are_wrapped_until_told_otherwise(transcript: Transcript) -> None:
    show(transcript, "```python\n" + "x" * 400 + "\n```")
    assert transcript.horizontalScrollBar().maximum() == 0
    link = next(part for part in transcript.toHtml().split('"') if part.startswith("emberglass:wrap/"))
    transcript.anchorClicked.emit(QUrl(link))
    assert transcript.horizontalScrollBar().maximum() > 0
    assert "python    Copy code    Wrap\n" in transcript.toPlainText()
    transcript.anchorClicked.emit(QUrl(link))
    assert transcript.horizontalScrollBar().maximum() == 0
    assert "python    Copy code    Don’t wrap\n" in transcript.toPlainText()
