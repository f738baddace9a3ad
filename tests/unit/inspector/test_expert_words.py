"""Sentences about the expert map."""

from __future__ import annotations

from app.expert_history import ExpertHistory, HeatWindow
from app.inspector.expert_words import cell_words, missing_figures, window_words
from app.telemetry_store import TelemetryStore
from tests.support.telemetry_events import experts_event, load_events, model_info


def test_a_cell_says_all_the_counters_say() -> None:
    sample = experts_event(
        0,
        [[0, 1200], [0, 0]],
        decode=[[0, 34], [0, 0]],
        tiers=[[0, 2], [1, 0]],
        last_pass=[[0, 87], [0, 90]],
    )
    words = cell_words(model_info(), sample, 0, 1)
    assert words == (
        "Layer 3, expert 1: RAM pool, 977 KiB. "
        "1,200 uses in prefill, 34 in decode; last used in pass 87 of 90."
    )
    assert cell_words(model_info(), sample, 1, 0).endswith("0 in decode; never used.")


def test_a_dense_model_gets_a_sentence() -> None:
    store = TelemetryStore()
    assert missing_figures(store).startswith("No model is loaded.")
    store.apply(load_events(model_info(())))
    assert missing_figures(store).startswith("“Tiny” is a dense model: it has no routed experts")
    store.apply(load_events(model_info()))
    assert missing_figures(store).startswith("No figures about experts yet.")
    store.apply([experts_event(1, [[0] * 8] * 3)])
    assert missing_figures(store) == ""


def test_the_last_pass_names_its_passes() -> None:
    history = ExpertHistory(experts_event(0, [[1]], last_pass=[[4]]))
    assert window_words(history, HeatWindow.LAST_PASS) == "Uses in passes 1 to 4"
    history.add(experts_event(1, [[2]], last_pass=[[5]]))
    assert window_words(history, HeatWindow.LAST_PASS) == "Uses in pass 5"
    history.add(experts_event(2, [[4]], last_pass=[[7]]))
    assert window_words(history, HeatWindow.LAST_PASS) == "Uses in passes 6 to 7"
    assert window_words(history, HeatWindow.SESSION) == "Uses since the model was loaded"
