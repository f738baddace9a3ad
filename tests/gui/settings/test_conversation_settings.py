"""A conversation changes its preset's values; the changes are marked and can be taken back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.history.records import ChatSettings
from app.history.store import HistoryStore
from app.settings.conversation_settings import ConversationSettings
from app.settings.setting_levels import program_settings
from engine.config import SamplingSettings


class Scene:
    def __init__(self, qtbot: QtBot, store: HistoryStore) -> None:
        self.store = store
        self.preset = store.save_preset("Brief", ChatSettings("Be brief.", temperature=0.2, max_tokens=100))
        self.id = store.create_conversation("Talk").id
        store.set_preset(self.id, self.preset.id)
        store.set_settings(self.id, ChatSettings(temperature=0.9))
        self.window = QWidget()
        qtbot.addWidget(self.window)
        lowest = program_settings(SamplingSettings())
        self.dialog = ConversationSettings(store, self.id, "Talk", lowest, self.window)
        self.dialog.open()

    def changed(self) -> list[str]:
        return [name for name, mark in self.dialog.form.marks.items() if mark.text()]


@pytest.fixture
def scene(qtbot: QtBot, store: HistoryStore) -> Iterator[Scene]:
    opened = Scene(qtbot, store)
    yield opened
    opened.dialog.close()


def test_it_shows_what_applies_and_marks_what_differs_from_the_preset(scene: Scene) -> None:
    form = scene.dialog.form
    assert scene.dialog.preset.currentText() == "Brief"
    assert form.prompt.toPlainText() == "Be brief."
    assert form.numbers["temperature"].value() == pytest.approx(0.9)
    assert form.numbers["max_tokens"].value() == 100
    assert scene.changed() == ["temperature"]
    assert "Brief" in form.marks["temperature"].toolTip()


def test_a_reset_goes_back_to_the_preset(scene: Scene) -> None:
    scene.dialog.form.resets["temperature"].click()
    assert scene.dialog.form.numbers["temperature"].value() == pytest.approx(0.2)
    scene.dialog.close()
    assert scene.store.settings_of(scene.id) == ChatSettings()


def test_changes_are_saved_when_it_closes(scene: Scene) -> None:
    scene.dialog.form.prompt.setPlainText("Answer in Japanese.")
    scene.dialog.form.numbers["seed"].setValue(7)
    scene.dialog.close()
    assert scene.store.settings_of(scene.id) == ChatSettings("Answer in Japanese.", temperature=0.9, seed=7)


def test_another_preset_keeps_the_changes(scene: Scene) -> None:
    scene.dialog.preset.setCurrentIndex(0)
    scene.dialog.preset.activated.emit(0)
    assert scene.store.preset_of(scene.id) is None
    assert scene.dialog.form.numbers["temperature"].value() == pytest.approx(0.9)
    assert scene.dialog.form.prompt.toPlainText() == ""
    assert scene.dialog.form.numbers["max_tokens"].text() == "no limit"


def test_an_emptied_prompt_shows_the_one_that_applies(scene: Scene) -> None:
    scene.dialog.form.prompt.setPlainText("")
    assert scene.dialog.form.prompt.placeholderText() == "Be brief."
