"""Rates are drawn as steps over their intervals."""

from __future__ import annotations

from app.inspector.time_plots import step_seconds
from app.telemetry_store import TelemetryStore
from engine.events import EngineState
from tests.support.telemetry_events import counters_event, load_events, model_info, state_event


def test_steps_join_only_where_sampling_went_on() -> None:
    store = TelemetryStore()
    store.apply([*load_events(model_info()), counters_event(1), counters_event(3)])
    store.apply([state_event(7, EngineState.GENERATING), counters_event(8)])
    store.apply([*load_events(model_info(), 9), counters_event(18), counters_event(20)])
    seconds, joined = step_seconds(store.rates.series(60))
    assert seconds.tolist() == [-19, -17, -17, -13, -13, -12, -2, 0]
    # the gap between -12 s and -2 s is the load, for which there are no counters
    assert joined.tolist() == [1, 1, 1, 1, 1, 0, 1, 1]


def test_nothing_sampled_is_nothing_drawn() -> None:
    seconds, joined = step_seconds(TelemetryStore().rates.series(60))
    assert (len(seconds), len(joined)) == (0, 0)
