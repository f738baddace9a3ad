"""Enter sends, Shift+Enter breaks the line, and an input method keeps its Enter."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.chat.composer import Composer


@pytest.fixture
def composer(qtbot: QtBot) -> Composer:
    widget = Composer()
    qtbot.addWidget(widget)
    widget.show()
    return widget


def test_enter_sends_and_shift_enter_breaks_the_line(composer: Composer, qtbot: QtBot) -> None:
    sent: list[str] = []
    composer.submitted.connect(sent.append)
    qtbot.keyClicks(composer, "one")
    qtbot.keyClick(composer, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClicks(composer, "two")
    qtbot.keyClick(composer, Qt.Key.Key_Enter)
    assert sent == ["one\ntwo"]


def test_blank_text_is_not_sent(composer: Composer, qtbot: QtBot) -> None:
    sent: list[str] = []
    composer.submitted.connect(sent.append)
    qtbot.keyClicks(composer, "   ")
    qtbot.keyClick(composer, Qt.Key.Key_Return)
    assert sent == []
    assert composer.toPlainText() == "   "


def test_enter_while_composing_neither_sends_nor_breaks_the_line(composer: Composer, qtbot: QtBot) -> None:
    sent: list[str] = []
    composer.submitted.connect(sent.append)
    qtbot.keyClicks(composer, "a")
    QApplication.sendEvent(composer, QInputMethodEvent("せんもん", []))
    assert composer.is_composing
    qtbot.keyClick(composer, Qt.Key.Key_Return)
    commit = QInputMethodEvent()
    commit.setCommitString("専門")
    QApplication.sendEvent(composer, commit)
    assert sent == []
    assert composer.toPlainText() == "a専門"
    qtbot.keyClick(composer, Qt.Key.Key_Return)
    assert sent == ["a専門"]


def test_it_grows_with_its_lines_up_to_a_limit(composer: Composer) -> None:
    heights = []
    for lines in (1, 5, 10, 40):
        composer.setPlainText("\n".join(["x"] * lines))
        heights.append(composer.height())
    assert heights[0] < heights[1] < heights[2] == heights[3]


def test_a_dropped_model_is_left_to_the_window(composer: Composer) -> None:
    model, text = QMimeData(), QMimeData()
    model.setUrls([QUrl.fromLocalFile("/models/専門 x.GGUF")])
    text.setText("words")
    assert not composer.canInsertFromMimeData(model)
    assert composer.canInsertFromMimeData(text)
