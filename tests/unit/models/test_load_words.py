"""Words about loads and models, against figures worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from app.models.load_words import load_news, load_words, model_details, settings_words, state_words
from engine.config import GIB, LoadSettings, Repack
from engine.events import EngineState, LoadPhase, LoadProgress
from tests.support.scripted_backend import model_info

MODEL = replace(model_info(), ram_budget_bytes=2 * GIB)


def test_a_read_says_bytes_rate_and_time_left() -> None:
    progress = LoadProgress(
        phase=LoadPhase.DENSE_READ, done_bytes=GIB, total_bytes=3 * GIB, bytes_per_second=GIB / 2
    )
    assert load_words(progress) == "Reading the dense weights · 1 GiB of 3 GiB · 512 MiB/s · about 4 s left"


def test_a_phase_without_figures_claims_none() -> None:
    progress = LoadProgress(phase=LoadPhase.MAP, done_bytes=0, total_bytes=0, bytes_per_second=0.0)
    assert load_words(progress) == "Mapping the file"
    assert load_words(None) == "Starting…"


def test_settings_that_were_changed_show_what_was_asked_for() -> None:
    changed = replace(MODEL, requested_context_tokens=8192, requested_unit_tokens=16)
    assert settings_words(changed) == (
        "2 GiB memory budget · context 4,096 tokens (asked for 8,192) · unit 16 tokens"
    )


def test_the_state_line_tells_what_is_true() -> None:
    assert state_words(EngineState.EMPTY, None, "") == "No model loaded"
    assert state_words(EngineState.LOADING, MODEL, "x.gguf") == "Loading x.gguf…"
    assert state_words(EngineState.READY, MODEL, "").startswith("Ready · model · 2 GiB")
    assert state_words(EngineState.GENERATING, MODEL, "").startswith("Answering · model")
    assert state_words(EngineState.WARMING_UP, MODEL, "").startswith("Warming up · model")


def test_details_end_with_the_notes() -> None:
    assert model_details(replace(MODEL, notes=("The unit was shrunk.",))).endswith("\nThe unit was shrunk.")


def test_what_the_program_chose_by_itself_is_no_news() -> None:
    reason = "Weights stay as they are."
    model = replace(MODEL, repack_reason=reason, notes=("The unit was shrunk.", reason))
    asked = LoadSettings(Path("a.gguf"))
    assert load_news(model, asked) == "The unit was shrunk."
    assert (
        load_news(model, replace(asked, repack=Repack.ON)) == "The unit was shrunk. Weights stay as they are."
    )
    assert load_news(replace(model, notes=(reason,)), asked) == ""
