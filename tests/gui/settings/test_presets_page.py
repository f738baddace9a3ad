"""Presets are made, changed, renamed and deleted; what they change is marked and can be taken back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from app.history.records import ChatSettings
from app.history.store import HistoryStore
from app.name_dialog import NameDialog
from app.settings.chat_page import ChatPage
from app.settings.choices import ChatChoices
from app.settings.presets_page import PresetsPage
from app.settings.setting_levels import program_settings
from engine.config import SamplingSettings

LOWEST = program_settings(SamplingSettings())


@pytest.fixture
def page(qtbot: QtBot, store: HistoryStore) -> Iterator[PresetsPage]:
    store.save_preset("Brief", ChatSettings(system_prompt="Be brief.", temperature=0.2))
    store.save_preset("Wild", ChatSettings(temperature=1.5))
    widget = PresetsPage(store, LOWEST)
    qtbot.addWidget(widget)
    widget.show()
    yield widget
    widget.save_now()


def answer_name(page: PresetsPage, name: str) -> None:
    dialog = page.findChild(NameDialog)
    assert isinstance(dialog, NameDialog)
    dialog.field.setText(name)
    dialog.accept()


def changed(page: PresetsPage) -> list[str]:
    return [name for name, mark in page.form.marks.items() if mark.text()]


def test_the_first_preset_is_shown_with_what_it_changes(page: PresetsPage) -> None:
    assert page.form.prompt.toPlainText() == "Be brief."
    assert page.form.numbers["temperature"].value() == pytest.approx(0.2)
    assert page.form.numbers["top_p"].value() == pytest.approx(0.95)
    assert changed(page) == ["system_prompt", "temperature"]


def test_a_change_is_saved_by_itself(qtbot: QtBot, page: PresetsPage, store: HistoryStore) -> None:
    with qtbot.waitSignal(page.changed):
        page.form.numbers["top_k"].setValue(7)
    assert store.presets()[0].settings == ChatSettings("Be brief.", temperature=0.2, top_k=7)


def test_choosing_another_preset_saves_the_one_before(page: PresetsPage, store: HistoryStore) -> None:
    page.form.numbers["temperature"].setValue(0.4)
    page.list.setCurrentRow(1)
    assert [each.settings.temperature for each in store.presets()] == [0.4, 1.5]
    assert page.form.numbers["temperature"].value() == pytest.approx(1.5)


def test_reset_takes_one_change_back_or_all(page: PresetsPage, store: HistoryStore) -> None:
    page.form.resets["temperature"].click()
    assert page.form.numbers["temperature"].value() == pytest.approx(SamplingSettings().temperature)
    assert changed(page) == ["system_prompt"]
    page.form.reset_all.click()
    page.save_now()
    assert store.presets()[0].settings == ChatSettings()
    assert not page.form.reset_all.isEnabled()


def test_typing_the_usual_value_again_is_no_change(page: PresetsPage) -> None:
    page.form.numbers["temperature"].setValue(SamplingSettings().temperature)
    assert changed(page) == ["system_prompt"]


def test_new_rename_and_delete(page: PresetsPage, store: HistoryStore) -> None:
    page.buttons["New"].click()
    answer_name(page, "  Code  review ")
    assert [each.name for each in store.presets()] == ["Brief", "Code review", "Wild"]
    assert page.preset is not None
    assert page.preset.name == "Code review"
    page.buttons["Rename"].click()
    page.findChildren(NameDialog)[-1].field.setText("Zen")
    page.findChildren(NameDialog)[-1].accept()
    assert [each.name for each in store.presets()] == ["Brief", "Wild", "Zen"]
    page.buttons["Delete"].click()
    box = page.findChild(QMessageBox)
    assert isinstance(box, QMessageBox)
    assert "“Zen”" in box.text()
    next(button for button in box.buttons() if button.text() == "Delete").click()
    assert [each.name for each in store.presets()] == ["Brief", "Wild"]


def test_a_name_that_is_taken_is_a_fault_in_words(qtbot: QtBot, page: PresetsPage) -> None:
    with qtbot.waitSignal(page.fault) as told:
        page.buttons["New"].click()
        answer_name(page, "brief")
    assert "brief" in told.args[0].fault


@pytest.mark.parametrize(("name", "open_text"), [("max_tokens", "no limit"), ("seed", "a new one each time")])
def test_a_number_may_stay_open(page: PresetsPage, store: HistoryStore, name: str, open_text: str) -> None:
    box = page.form.numbers[name]
    assert box.text() == open_text
    box.setValue(512)
    page.save_now()
    assert getattr(store.presets()[0].settings, name) == 512
    page.form.resets[name].click()
    assert box.text() == open_text


def test_the_default_preset_and_the_way_to_send_are_kept(
    qtbot: QtBot, store: HistoryStore, tmp_path: object
) -> None:
    preset = store.save_preset("Brief", ChatSettings(temperature=0.2))
    settings = QSettings(f"{tmp_path}/window.ini", QSettings.Format.IniFormat)
    choices = ChatChoices(settings)
    page = ChatPage(store, choices, LOWEST)
    qtbot.addWidget(page)
    assert (choices.default_preset_id, choices.sends_with_ctrl_enter) == (None, False)
    page.default.setCurrentIndex(1)
    page.default.activated.emit(1)
    page.ctrl_enter.click()
    again = ChatChoices(QSettings(f"{tmp_path}/window.ini", QSettings.Format.IniFormat))
    assert (again.default_preset_id, again.sends_with_ctrl_enter) == (preset.id, True)
