"""Which Enter sends, that an input method keeps its own, how the composer grows and what it lets in."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.chat.composer import Composer

_Key = Qt.Key
_SHIFT, _CTRL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier


class Writing:
    """A composer and the texts it wanted to send."""

    def __init__(self, qtbot: QtBot) -> None:
        self.qtbot = qtbot
        self.with_ctrl = False
        self.sent: list[str] = []
        self.composer = Composer(None, lambda: self.with_ctrl)
        self.composer.submitted.connect(lambda: self.sent.append(self.composer.toPlainText()))
        qtbot.addWidget(self.composer)
        self.composer.show()

    def press(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        self.qtbot.keyClick(self.composer, key, modifiers)

    def compose(self, preedit: str, commit: str = "") -> None:
        event = QInputMethodEvent(preedit, [])
        event.setCommitString(commit)
        QApplication.sendEvent(self.composer, event)


@pytest.fixture
def writing(qtbot: QtBot) -> Writing:
    return Writing(qtbot)


def test_enter_sends_and_shift_enter_breaks_the_line(writing: Writing, qtbot: QtBot) -> None:
    qtbot.keyClicks(writing.composer, "one")
    writing.press(_Key.Key_Return, _SHIFT)
    qtbot.keyClicks(writing.composer, "two")
    writing.press(_Key.Key_Enter)
    assert writing.sent == ["one\ntwo"]


def test_with_ctrl_chosen_only_ctrl_enter_sends(writing: Writing, qtbot: QtBot) -> None:
    writing.with_ctrl = True
    qtbot.keyClicks(writing.composer, "one")
    writing.press(_Key.Key_Return)
    writing.press(_Key.Key_Enter, _SHIFT)
    qtbot.keyClicks(writing.composer, "two")
    assert writing.sent == []
    writing.press(_Key.Key_Return, _CTRL)
    assert writing.sent == ["one\n\ntwo"]
    writing.composer.show_hint()
    assert "Ctrl+Enter sends" in writing.composer.placeholderText()


@pytest.mark.parametrize("with_ctrl", [False, True])
@pytest.mark.parametrize("modifiers", [Qt.KeyboardModifier.NoModifier, _SHIFT, _CTRL])
def test_enter_while_composing_neither_sends_nor_breaks_the_line(
    writing: Writing, with_ctrl: bool, modifiers: Qt.KeyboardModifier
) -> None:
    writing.with_ctrl = with_ctrl
    writing.composer.setPlainText("a")
    writing.composer.moveCursor(writing.composer.textCursor().MoveOperation.End)
    writing.compose("せんもん")
    assert writing.composer.is_composing
    writing.press(_Key.Key_Return, modifiers)
    writing.compose("", commit="専門")
    assert writing.sent == []
    assert writing.composer.toPlainText() == "a専門"
    writing.press(_Key.Key_Return, _CTRL)
    assert writing.sent == ["a専門"]


def test_text_set_while_composing_ends_the_composition(writing: Writing) -> None:
    writing.compose("せん")
    writing.composer.setPlainText("draft of another conversation")
    writing.press(_Key.Key_Return)
    assert writing.sent == ["draft of another conversation"]


def test_alone_it_grows_up_to_ten_lines(writing: Writing) -> None:
    heights = []
    for lines in (1, 5, 10, 40):
        writing.composer.setPlainText("\n".join(["x"] * lines))
        heights.append(writing.composer.height())
    assert heights[0] < heights[1] < heights[2] == heights[3]


def test_in_a_window_it_grows_up_to_a_third(qtbot: QtBot) -> None:
    window, composer = QWidget(), Composer()
    qtbot.addWidget(window)
    QVBoxLayout(window).addWidget(composer)
    window.resize(500, 900)
    window.show()
    composer.setPlainText("\n".join(["x"] * 100))
    assert composer.height() == 300
    window.resize(500, 600)
    composer.fit_height()
    assert composer.height() == 200
    composer.clear()
    assert composer.height() < 100


def test_a_long_line_that_wraps_counts_as_lines(writing: Writing) -> None:
    writing.composer.resize(300, 50)
    one_line = writing.composer.height()
    writing.composer.setPlainText("word " * 100)
    assert writing.composer.height() > 2 * one_line


def test_a_dropped_model_is_left_to_the_window(writing: Writing) -> None:
    model, text = QMimeData(), QMimeData()
    model.setUrls([QUrl.fromLocalFile("/models/専門 x.GGUF")])
    text.setText("words")
    assert not writing.composer.canInsertFromMimeData(model)
    assert writing.composer.canInsertFromMimeData(text)


def test_pasted_files_are_handed_on_and_not_written_as_addresses(writing: Writing, tmp_path: Path) -> None:
    given: list[list[Path]] = []
    writing.composer.files_given.connect(given.append)
    files = QMimeData()
    paths = [tmp_path / "ノート 1.txt", tmp_path / "b.py"]
    files.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    assert writing.composer.canInsertFromMimeData(files)
    writing.composer.insertFromMimeData(files)
    assert given == [paths]
    assert writing.composer.toPlainText() == ""


def test_pasted_text_stays_text(writing: Writing) -> None:
    data = QMimeData()
    data.setText("a\nb")
    data.setHtml("<b>a</b>")
    writing.composer.insertFromMimeData(data)
    assert writing.composer.toPlainText() == "a\nb"
