"""The palette runs what is typed, by keyboard alone."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from app.command_palette import Command, CommandPalette, fitting


class Scene:
    def __init__(self, qtbot: QtBot) -> None:
        self.qtbot = qtbot
        self.ran: list[str] = []
        self.window = QWidget()
        self.window.resize(900, 600)
        qtbot.addWidget(self.window)
        self.window.show()
        texts = (
            ("New conversation", "Chat", "Ctrl+N"), ("Open a model", "File", "Ctrl+O"),
            ("Dark", "View › Colours", ""), ("東京の旅", "Conversation", ""),
        )  # fmt: skip
        commands = [
            Command(text, place, keys, lambda ran=text: self.ran.append(ran)) for text, place, keys in texts
        ]
        self.palette = CommandPalette(commands, self.window)
        self.palette.open()
        qtbot.waitExposed(self.palette)
        field = self.palette.findChild(QLineEdit)
        assert isinstance(field, QLineEdit)
        self.field = field


@pytest.fixture
def scene(qtbot: QtBot) -> Scene:
    return Scene(qtbot)


def test_everything_is_listed_until_letters_narrow_it(scene: Scene) -> None:
    assert scene.palette.texts() == ["New conversation", "Open a model", "Dark", "東京の旅"]
    scene.qtbot.keyClicks(scene.field, "opn mod")
    assert scene.palette.texts() == ["Open a model"]
    scene.field.setText("旅")
    assert scene.palette.texts() == ["東京の旅"]


def test_enter_runs_the_chosen_one_after_the_palette_has_gone(scene: Scene) -> None:
    scene.qtbot.keyClick(scene.field, Qt.Key.Key_Down)
    scene.qtbot.keyClick(scene.field, Qt.Key.Key_Return)
    assert not scene.palette.isVisible()
    scene.qtbot.waitUntil(lambda: scene.ran == ["Open a model"])


def test_escape_runs_nothing(scene: Scene) -> None:
    scene.qtbot.keyClick(scene.field, Qt.Key.Key_Escape)
    assert not scene.palette.isVisible()
    scene.qtbot.wait(1)
    assert scene.ran == []


def test_letters_that_fit_nothing_leave_enter_without_effect(scene: Scene) -> None:
    scene.qtbot.keyClicks(scene.field, "qqq")
    scene.qtbot.keyClick(scene.field, Qt.Key.Key_Return)
    assert scene.palette.isVisible()
    assert scene.palette.texts() == []


def test_the_menu_counts_less_than_the_text(qtbot: QtBot) -> None:
    by_place = Command("Larger text", "View", "", print)
    by_text = Command("View the log", "Help", "", print)
    assert fitting([by_place, by_text], "view") == [by_text, by_place]
