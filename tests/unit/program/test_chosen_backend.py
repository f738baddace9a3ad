"""One engine can load real files and the simulated model in turn; the other one is freed first."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.chosen_backend import SIMULATED_PATH, ChosenBackend
from engine.backends.base import CancelToken, LoadReport
from engine.config import LoadSettings
from engine.errors import StateError
from tests.support.scripted_backend import ScriptedBackend


def ignore(report: LoadReport) -> None:
    """Progress is of no interest here."""


def test_the_path_chooses_and_the_other_model_is_freed() -> None:
    real, simulated = ScriptedBackend(can_cut=False), ScriptedBackend()
    chosen = ChosenBackend(lambda: real, lambda: simulated)
    chosen.load(LoadSettings(Path("/models/real.gguf")), ignore, CancelToken())
    chosen.evaluate([1, 2, 3], 0, True, CancelToken())
    assert (real.kv, simulated.kv) == ([1, 2, 3], [])
    chosen.load(LoadSettings(SIMULATED_PATH), ignore, CancelToken())
    assert real.kv == []
    chosen.evaluate([4], 0, True, CancelToken())
    assert (real.kv, simulated.kv) == ([], [4])
    assert chosen.counters().prefill_tokens == 0
    assert chosen.counters() == simulated.counters()


def test_nothing_is_made_before_it_is_needed() -> None:
    made: list[str] = []

    def make() -> ScriptedBackend:
        made.append("real")
        return ScriptedBackend()

    chosen = ChosenBackend(make, ScriptedBackend)
    chosen.unload()
    with pytest.raises(StateError):
        chosen.counters()
    chosen.load(LoadSettings(SIMULATED_PATH), ignore, CancelToken())
    assert made == []
