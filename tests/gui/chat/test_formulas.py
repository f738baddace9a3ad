"""Formulas are drawn beside the work; their source stands there until then, and stays if they can't be."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QImage, QTextDocument
from pytestqt.qtbot import QtBot

from app.chat.formula_drawing import FormulaRequest, FormulaSvg, FormulaThread, draw_formula
from app.chat.formula_pictures import FormulaPictures
from app.chat.transcript import Transcript
from app.history.records import Message
from tests.support.document_words import answer_lines

LIVE = Message(2, 1, "assistant", "", "streaming", 0.0, None, "Model")
ASKED = FormulaRequest("x^2", is_display=False, em_pixels=16, colour="#112233")


@pytest.fixture
def transcript(qtbot: QtBot) -> Transcript:
    widget = Transcript()
    qtbot.addWidget(widget)
    widget.resize(500, 300)
    widget.show()
    return widget


def show(transcript: Transcript, text: str) -> None:
    transcript.show_messages([replace(LIVE, text=text, status="complete")])


def pictures(document: QTextDocument) -> int:
    return document.toRawText().count("\ufffc")


@pytest.mark.parametrize(
    "latex",
    [
        "x^2",
        "\\frac{a}{b}",
        "\\int_0^\\infty e^{-x^2}\\,dx",
        "\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}",
        "\\sqrt[3]{x} \\leq \\alpha",
        "\\sum_{i=1}^n i = \\frac{n(n+1)}{2}",
        "\\text{if } x \\in \\mathbb{R}",
        "\\begin{cases} 1 & x > 0 \\\\ 0 & x \\leq 0 \\end{cases}",
    ],
)
def test_what_can_be_drawn(latex: str) -> None:
    drawn = draw_formula(replace(ASKED, latex=latex))
    assert drawn is not None
    assert drawn.svg.startswith("<svg")
    assert "#112233" in drawn.svg
    assert 5 < drawn.width_pixels < 400
    assert drawn.ascent_pixels > 5


@pytest.mark.parametrize("latex", ["\\frac{a", "\\nosuchcommand{x}", "\\text{もし}", "x" * 3_000])
def test_what_cannot_be_drawn(latex: str) -> None:
    assert draw_formula(replace(ASKED, latex=latex)) is None


def test_a_fraction_reaches_below_the_line() -> None:
    letter, fraction = (
        draw_formula(replace(ASKED, latex="x")),
        draw_formula(replace(ASKED, latex="\\frac{a}{b}")),
    )
    assert letter is not None
    assert fraction is not None
    assert fraction.descent_pixels > letter.descent_pixels + 2


def test_display_formulas_are_larger() -> None:
    small = draw_formula(replace(ASKED, latex="\\sum_{i=1}^n i"))
    large = draw_formula(replace(ASKED, latex="\\sum_{i=1}^n i", is_display=True))
    assert small is not None
    assert large is not None
    assert large.ascent_pixels + large.descent_pixels > small.ascent_pixels + small.descent_pixels


def test_the_source_stands_there_until_the_formula_is_drawn(transcript: Transcript, qtbot: QtBot) -> None:
    show(transcript, "a $x^2$ b \\(\\frac{1}{2}\\)\n\n$$\ny\n$$")
    assert "x^2" in transcript.toPlainText()
    qtbot.waitUntil(lambda: pictures(transcript.document()) == 3, timeout=5_000)
    assert "x^2" not in transcript.toPlainText()
    assert answer_lines(transcript.document()) == ["a ⟦$x^2$⟧ b ⟦\\(\\frac{1}{2}\\)⟧", "⟦$$\ny\n$$⟧"]


def test_the_source_stays_if_it_cannot_be_drawn(transcript: Transcript, qtbot: QtBot) -> None:
    show(transcript, "\\(\\frac{a\\) and $x$")
    qtbot.waitUntil(lambda: pictures(transcript.document()) == 1, timeout=5_000)
    assert "\\frac{a and" in transcript.toPlainText()


def test_a_known_formula_is_drawn_at_once(transcript: Transcript, qtbot: QtBot) -> None:
    show(transcript, "$x$")
    qtbot.waitUntil(lambda: pictures(transcript.document()) == 1, timeout=5_000)
    transcript.show_messages([LIVE], LIVE)
    transcript.append_text("again $x$ and more")
    assert pictures(transcript.document()) == 1


def test_formulas_are_found_while_the_text_around_them_moves(transcript: Transcript, qtbot: QtBot) -> None:
    transcript.show_messages([LIVE], LIVE)
    for piece in ("a $x$ b\n\n", "c $y$ ", "d\n\n", "- $z$\n- ", "end"):
        transcript.append_text(piece)
    qtbot.waitUntil(lambda: pictures(transcript.document()) == 3, timeout=5_000)
    assert answer_lines(transcript.document()) == ["a ⟦$x$⟧ b", "c ⟦$y$⟧ d", "• ⟦$z$⟧", "• end"]


def test_a_formula_that_is_still_being_written_is_not_drawn(transcript: Transcript, qtbot: QtBot) -> None:
    transcript.show_messages([LIVE], LIVE)
    transcript.append_text("$x$\n\n$$\n\\frac{a}{b}\n")
    qtbot.waitUntil(lambda: pictures(transcript.document()) == 1, timeout=5_000)
    assert "\\frac{a}{b}" in transcript.toPlainText()


def test_the_reader_keeps_the_place_when_formulas_are_drawn(transcript: Transcript, qtbot: QtBot) -> None:
    show(transcript, "$$\\frac{a}{b}$$\n\n" * 20 + "words\n\n" * 40)
    bar = transcript.verticalScrollBar()
    line = transcript.document().find("words").block()
    bar.setValue(round(transcript.document().documentLayout().blockBoundingRect(line).top()) + 3)
    qtbot.waitUntil(lambda: pictures(transcript.document()) == 20, timeout=5_000)
    assert transcript.cursorForPosition(QPoint(40, 5)).block().text() == "words"


class Blocked:
    """Draws only when it is let."""

    def __init__(self) -> None:
        self.may_draw = threading.Event()
        self.drawn: list[str] = []

    def draw(self, request: FormulaRequest) -> FormulaSvg | None:
        assert self.may_draw.wait(10)
        self.drawn.append(request.latex)
        svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 -10 20 14"><path d="M0 -10H20V4H0Z"/></svg>'
        return FormulaSvg(svg, 20, 10, 4)


def test_drawing_is_asked_for_once_and_nobody_waits(qtbot: QtBot) -> None:
    blocked = Blocked()
    made = FormulaPictures(thread=FormulaThread(blocked.draw))
    assert made.picture(ASKED) is None
    assert made.picture(ASKED) is None
    with qtbot.waitSignal(made.drawn):
        blocked.may_draw.set()
    picture = made.picture(ASKED)
    assert picture is not None
    assert (picture.width_pixels, picture.height_pixels) == (20, 20)
    assert blocked.drawn == ["x^2"]


def test_pictures_are_as_dense_as_the_screen_and_stand_on_the_line(qtbot: QtBot) -> None:
    blocked = Blocked()
    blocked.may_draw.set()
    made = FormulaPictures(thread=FormulaThread(blocked.draw))
    request = replace(ASKED, axis_pixels=4.0, pixel_ratio=2.0)
    made.picture(request)
    qtbot.waitUntil(lambda: made.picture(request) is not None)
    picture = made.picture(request)
    assert picture is not None
    # Qt puts the middle of a picture half an axis above the line: 10 above and 6 below
    assert (picture.width_pixels, picture.height_pixels) == (20, 16)
    assert (picture.image.width(), picture.image.height()) == (40, 32)
    assert first_blank_row(picture.image) == 28


def first_blank_row(image: QImage) -> int:
    """Below what is painted."""
    return next(row for row in range(image.height()) if image.pixelColor(20, row).alpha() == 0)
