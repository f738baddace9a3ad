"""What was asked for a model comes back with it, over a restart and against damaged files."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QSettings

from app.models.load_memory import LoadMemory
from engine.config import GIB, LoadSettings, Repack, Routing

_PATH = Path("/models/専門 a.gguf")
_USUAL = LoadSettings(_PATH, devices=("rpc:a:1",))
_ASKED = LoadSettings(
    _PATH,
    ram_budget_bytes=6 * GIB,
    context_tokens=2048,
    unit_tokens=64,
    routing=Routing.RESIDENT,
    pool_per_layer=20,
    hot_per_layer=0,
    repack=Repack.OFF,
    devices=("rpc:a:1",),
    vram_budget_bytes=GIB,
    staging_slots=3,
)


@pytest.fixture
def settings(tmp_path: Path) -> QSettings:
    return QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)


@pytest.fixture
def memory(settings: QSettings) -> LoadMemory:
    return LoadMemory(settings)


def test_everything_comes_back(memory: LoadMemory, settings: QSettings) -> None:
    memory.keep(_ASKED, ("rpc:a:1",))
    settings.sync()
    again = LoadMemory(QSettings(settings.fileName(), QSettings.Format.IniFormat))
    assert again.over(_USUAL, ("rpc:a:1",)) == _ASKED
    other = LoadSettings(Path("/models/other.gguf"))
    assert again.over(other, ("rpc:a:1",)) == other


def test_a_model_without_a_choice_follows_the_usual_devices(memory: LoadMemory) -> None:
    memory.keep(LoadSettings(_PATH, devices=("rpc:a:1",)), ("rpc:a:1",))
    usual = LoadSettings(_PATH, devices=("rpc:a:1", "rpc:b:2"))
    assert memory.over(usual, ("rpc:a:1", "rpc:b:2")).devices == ("rpc:a:1", "rpc:b:2")


def test_chosen_devices_stay_chosen_while_they_are_set_up(memory: LoadMemory) -> None:
    memory.keep(LoadSettings(_PATH, devices=("rpc:a:1",)), ("rpc:a:1", "rpc:b:2"))
    assert memory.over(_USUAL, ("rpc:a:1", "rpc:b:2")).devices == ("rpc:a:1",)
    assert memory.over(_USUAL, ("rpc:b:2",)).devices == ()
    memory.keep(LoadSettings(_PATH, devices=("CUDA0", "rpc:a:1")), ("rpc:a:1",))
    assert memory.over(_USUAL, ()).devices == ("CUDA0",)


def test_the_last_word_counts(memory: LoadMemory) -> None:
    memory.keep(_ASKED, ("rpc:a:1",))
    memory.keep(_USUAL, ("rpc:a:1",))
    assert memory.over(_USUAL, ("rpc:a:1",)) == _USUAL


def test_the_oldest_are_forgotten(memory: LoadMemory) -> None:
    paths = [Path(f"/models/{number}.gguf") for number in range(65)]
    for path in paths:
        memory.keep(LoadSettings(path, unit_tokens=8), ())
    units = [memory.over(LoadSettings(path), ()).unit_tokens for path in paths]
    assert units == [None, *[8] * 64]


@pytest.mark.parametrize(
    "stored",
    [
        "",
        "nonsense",
        "[]",
        '{"/models/専門 a.gguf": 3}',
        '{"/models/専門 a.gguf": {"ram_budget_bytes": "6", "routing": "sideways", "devices": "a"}}',
        '{"/models/専門 a.gguf": {"repack": 3}}',
        '{"/models/専門 a.gguf": {"ram_budget_bytes": -5}}',
        '{"/models/専門 a.gguf": {"ram_budget_bytes": true, "path": "/etc", "devices": [3]}}',
    ],
)
def test_damaged_settings_are_ignored(memory: LoadMemory, settings: QSettings, stored: str) -> None:
    settings.setValue("models/asked", stored)
    assert memory.over(_USUAL, ("rpc:a:1",)) == _USUAL
