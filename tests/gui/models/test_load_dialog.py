"""The load dialog: two fields for most, all the others on demand, and what to expect."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QDoubleSpinBox
from pytestqt.qtbot import QtBot

from app.load_forecast import ForecastAnswer, forecast_load
from app.models.load_dialog import LoadDialog
from engine.config import GIB, LoadSettings, Repack, Routing
from engine.errors import BudgetError

_ASKED = LoadSettings(Path("/models/a.gguf"))
_REMOTE = "rpc:box:50052"


@pytest.fixture
def dialog(qtbot: QtBot) -> LoadDialog:
    dialog = LoadDialog(_ASKED, (_REMOTE,))
    qtbot.addWidget(dialog)
    dialog.show()
    return dialog


def _type(dialog: LoadDialog, name: str, text: str) -> None:
    dialog.more.texts[name].setText(text)
    dialog.more.texts[name].textEdited.emit(text)


def test_the_simple_case_shows_two_fields(dialog: LoadDialog) -> None:
    assert dialog.settings == _ASKED
    assert not dialog.more.isVisible()


def test_more_settings_on_demand(dialog: LoadDialog) -> None:
    dialog._more_button.click()
    assert dialog.more.isVisible()
    _type(dialog, "pool_per_layer", "20")
    dialog.more.options["repack"].setCurrentIndex(2)
    dialog.more.devices.boxes[_REMOTE].click()
    _type(dialog, "vram_budget_bytes", "2 GiB")
    assert dialog.settings == LoadSettings(
        _ASKED.path, pool_per_layer=20, repack=Repack.OFF, devices=(_REMOTE,), vram_budget_bytes=2 * GIB
    )


def test_what_was_chosen_last_time_is_seen_at_once(qtbot: QtBot) -> None:
    asked = LoadSettings(_ASKED.path, ram_budget_bytes=6 * GIB, routing=Routing.RESIDENT)
    dialog = LoadDialog(asked, ())
    qtbot.addWidget(dialog)
    dialog.show()
    assert dialog.more.isVisible()
    assert dialog.settings == asked


def test_a_bad_value_can_t_be_loaded(dialog: LoadDialog) -> None:
    _type(dialog, "unit_tokens", "many")
    assert not dialog._load.isEnabled()
    assert dialog.more.rows["unit_tokens"].fault.startswith("⚠ “many” is not a whole number.")
    _type(dialog, "unit_tokens", "64")
    assert dialog._load.isEnabled()


def test_the_forecast_follows_the_fields(qtbot: QtBot, dialog: LoadDialog) -> None:
    asked: list[LoadSettings] = []
    dialog.forecast_wanted.connect(asked.append)
    dialog.findChild(QDoubleSpinBox).setValue(6)
    wanted = LoadSettings(_ASKED.path, ram_budget_bytes=6 * GIB)
    qtbot.waitUntil(lambda: asked[-1:] == [wanted])
    dialog.show_forecast(ForecastAnswer(_ASKED, error=BudgetError("Overtaken.").info))
    assert dialog.forecast == ""
    dialog.show_forecast(ForecastAnswer(wanted, error=BudgetError("Too small.", "Raise it.").info))
    assert dialog.forecast == "⚠ Too small. Raise it."


def test_a_file_that_is_gone_is_told_before_it_is_loaded(dialog: LoadDialog) -> None:
    dialog.show_forecast(forecast_load(_ASKED))
    assert "a.gguf" in dialog.forecast


def test_tab_goes_from_top_to_bottom(qtbot: QtBot, dialog: LoadDialog) -> None:
    dialog._more_button.click()
    dialog.more.devices.boxes[_REMOTE].click()
    qtbot.waitExposed(dialog)
    dialog.activateWindow()
    heights = []
    dialog._ram.setFocus()
    for _ in range(24):
        focus = QApplication.focusWidget()
        assert focus is not None
        heights.append(focus.mapTo(dialog, focus.rect().center()).y())
        if focus is dialog._load:
            break
        qtbot.keyClick(focus, Qt.Key.Key_Tab)
    assert focus is dialog._load
    # a field and the “?” beside it stand on one line, give or take some pixels
    assert all(after > before - 12 for before, after in pairwise(heights))
