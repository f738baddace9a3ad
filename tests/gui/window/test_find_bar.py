"""Find in the conversation: matches are counted, walked through, and the bar leaves by Esc."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton

from app.chat.find_bar import FindBar
from tests.support.running_window import OpenWindow, RunningWindow

SHIFT, CTRL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def scene(open_window: OpenWindow) -> RunningWindow:
    opened = open_window()
    opened.window.chat.begin_new()
    opened.say("One needle, two Needles.\n\n専門の針")
    opened.press(Qt.Key.Key_F, CTRL)
    opened.until(opened.window.find_bar.field.hasFocus)
    return opened


def bar(scene: RunningWindow) -> FindBar:
    return scene.window.find_bar


def selection(scene: RunningWindow) -> tuple[str, int]:
    cursor = scene.window.chat.view.transcript.textCursor()
    return cursor.selectedText(), cursor.selectionStart()


def look_for(scene: RunningWindow, text: str) -> None:
    bar(scene).field.setText(text)
    scene.until(lambda: bar(scene).count_words != "")


def test_matches_are_counted_and_walked_through_in_a_ring(scene: RunningWindow) -> None:
    look_for(scene, "needle")
    assert bar(scene).count_words == "2 matches"
    first = selection(scene)
    assert first[0] == "needle"
    scene.qtbot.keyClick(bar(scene).field, Qt.Key.Key_Return)
    second = selection(scene)
    assert second[0] == "Needle"
    assert second[1] > first[1]
    scene.qtbot.keyClick(bar(scene).field, Qt.Key.Key_Return)
    assert selection(scene) == first
    scene.qtbot.keyClick(bar(scene).field, Qt.Key.Key_Return, SHIFT)
    assert selection(scene) == second
    scene.press(Qt.Key.Key_F3)
    assert selection(scene) == first


def test_one_letter_of_japanese_is_found(scene: RunningWindow) -> None:
    look_for(scene, "針")
    assert (bar(scene).count_words, selection(scene)[0]) == ("1 match", "針")


def test_no_match_is_said_and_the_buttons_rest(scene: RunningWindow) -> None:
    look_for(scene, "qqq")
    assert bar(scene).count_words == "No match"
    names = {b.accessibleName(): b.isEnabled() for b in bar(scene).findChildren(QAbstractButton)}
    assert (names["Next match"], names["Previous match"]) == (False, False)
    assert names["Close the find bar"]


def test_escape_closes_the_bar_and_nothing_else(scene: RunningWindow) -> None:
    scene.load()
    scene.qtbot.keyClick(bar(scene).field, Qt.Key.Key_Escape)
    assert not bar(scene).isVisible()
    scene.until(scene.window.chat.view.transcript.hasFocus)
    assert scene.window.models.model is not None


def test_what_is_selected_is_looked_for(scene: RunningWindow) -> None:
    look_for(scene, "two")
    scene.qtbot.keyClick(bar(scene).field, Qt.Key.Key_Escape)
    bar(scene).field.clear()
    scene.press(Qt.Key.Key_F, CTRL)
    assert bar(scene).field.text() == "two"
