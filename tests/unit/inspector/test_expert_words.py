"""Sentences about the expert map."""

from __future__ import annotations

import dataclasses

import numpy as np

from app.expert_history import ExpertHistory, HeatWindow
from app.inspector.expert_words import (
    cell_words,
    layer_skew_words,
    missing_figures,
    skew_words,
    window_words,
)
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
    assert window_words(history, HeatWindow.LAST_PASS, 2) == "Uses in passes 1 to 4"
    history.add(experts_event(1, [[2]], last_pass=[[5]]))
    assert window_words(history, HeatWindow.LAST_PASS, 2) == "Uses in pass 5"
    history.add(experts_event(2, [[4]], last_pass=[[7]]))
    assert window_words(history, HeatWindow.LAST_PASS, 2) == "Uses in passes 6 to 7"
    assert window_words(history, HeatWindow.SESSION, 2) == "Uses since the model was loaded"


def test_a_layer_of_another_class_says_what_its_slots_take() -> None:
    info = model_info()
    small = dataclasses.replace(info.slot_classes[0], layers=(4,), slot_bytes=512 * 1024)
    mixed = dataclasses.replace(info, slot_classes=(info.slot_classes[0], small))
    assert "slot of 512 KiB." in cell_words(mixed, experts_event(0, [[0], [0]]), 1, 0)


def test_the_last_token_says_how_many_were_sampled_together() -> None:
    history = ExpertHistory(experts_event(0, [[9, 9, 9]]))
    assert window_words(history, HeatWindow.LAST_TOKEN, 2) == "Uses; no token has been decoded yet"
    history.add(experts_event(1, [[9, 9, 9]], decode=[[1, 1, 0]]))
    assert window_words(history, HeatWindow.LAST_TOKEN, 2) == "Uses in the last decoded token"
    history.add(experts_event(2, [[9, 9, 9]], decode=[[3, 2, 3]]))
    assert (
        window_words(history, HeatWindow.LAST_TOKEN, 2)
        == "Uses in the last 3 decoded tokens, sampled together"
    )


def test_skew_is_said_over_layers_and_for_one() -> None:
    assert skew_words(np.array([3, 0, 17, 4]), 128) == (
        "Skew: half of a layer’s picks go to 3 to 17, median 4, of its 128 experts."
    )
    assert skew_words(np.array([0, 0]), 128) == "Skew: no picks in this window."
    assert layer_skew_words(3, 128) == "Half of the layer’s picks go to 3 of 128 experts."
