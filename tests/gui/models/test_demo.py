"""The demo model is what a first start loads, and no more once the user has a model of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QSettings
from pytestqt.qtbot import QtBot

from app.models.models import Models
from engine.config import LoadSettings

_SIMULATED, _DEMO = LoadSettings(Path("simulated")), LoadSettings(Path("demo.gguf"), slots_per_class=4)


class _Engine:
    """Notes what is asked for."""

    def __init__(self) -> None:
        self.loads: list[LoadSettings] = []

    def load(self, settings: LoadSettings) -> int:
        self.loads.append(settings)
        return len(self.loads)

    def unload(self) -> int:
        return 0

    def cancel(self, request_id: int | None = None) -> None: ...


@pytest.fixture
def settings(tmp_path: Path) -> QSettings:
    return QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)


def _models(qtbot: QtBot, engine: _Engine, settings: QSettings, demo: LoadSettings | None) -> Models:
    models = Models(engine, settings, _SIMULATED, demo)
    qtbot.addWidget(models.panel)
    qtbot.addWidget(models.start_page)
    return models


def test_a_first_start_loads_the_demo_with_its_settings(qtbot: QtBot, settings: QSettings) -> None:
    engine = _Engine()
    _models(qtbot, engine, settings, _DEMO).load_first()
    assert engine.loads == [_DEMO]


def test_a_start_after_another_model_leaves_the_choice(qtbot: QtBot, settings: QSettings) -> None:
    engine = _Engine()
    models = _models(qtbot, engine, settings, _DEMO)
    models.recent.remember(Path("other.gguf"))
    models.load_first()
    assert engine.loads == []


def test_without_the_demo_nothing_is_loaded(qtbot: QtBot, settings: QSettings) -> None:
    engine = _Engine()
    models = _models(qtbot, engine, settings, None)
    models.load_first()
    models.load_demo()
    assert engine.loads == []


def test_every_load_keeps_what_it_learns(qtbot: QtBot, settings: QSettings, tmp_path: Path) -> None:
    engine = _Engine()
    models = Models(engine, settings, _SIMULATED, _DEMO, tmp_path / "profiles")
    for widget in (models.panel, models.start_page):
        qtbot.addWidget(widget)
    models.load_demo()
    models.load(LoadSettings(Path("other.gguf")))
    assert [each.profile_dir for each in engine.loads] == [tmp_path / "profiles"] * 2
