"""Rates are drawn as steps over their intervals, and in groups where the screen is too narrow."""

from __future__ import annotations

import numpy as np

from app.inspector.curve_points import curve_points
from app.telemetry_store import TelemetryStore
from engine.events import EngineState
from tests.support.telemetry_events import SECOND_NS, counters_event, load_events, model_info, state_event


def store_with_gap() -> TelemetryStore:
    store = TelemetryStore()
    store.apply([*load_events(model_info()), counters_event(1), counters_event(3)])
    store.apply([state_event(7, EngineState.GENERATING), counters_event(8)])
    store.apply([*load_events(model_info(), 9), counters_event(18), counters_event(20)])
    return store


def test_steps_join_only_where_sampling_went_on() -> None:
    points = curve_points(store_with_gap().rates.series(60), 20 * SECOND_NS, 100)
    assert points.seconds.tolist() == [-19, -17, -17, -13, -13, -12, -2, 0]
    # the gap between -12 s and -2 s is the load, for which there are no counters
    assert points.joined.tolist() == [1, 1, 1, 1, 1, 0, 1, 1]
    assert points.heights(np.array([1.0, 2, 3, 4])).tolist() == [1, 1, 2, 2, 3, 3, 4, 4]


def test_groups_keep_peaks_and_gaps() -> None:
    points = curve_points(store_with_gap().rates.series(60), 20 * SECOND_NS, 1)
    assert points.seconds.tolist() == [-19, -12, -2, 0]
    assert points.joined.tolist() == [1, 0, 1, 1]
    assert points.heights(np.array([1.0, 9, 3, 4])).tolist() == [9, 1, 4, 4]


def test_a_long_run_has_no_more_points_than_the_screen() -> None:
    store = TelemetryStore()
    store.apply([counters_event(t / 20, bytes_read=t) for t in range(5001)])
    points = curve_points(store.rates.series(600), 0, 400)
    assert len(points.seconds) == 2 * 385  # ceil(5000 / 400) = 13 in a group
    assert points.joined.all()


def test_nothing_sampled_is_nothing_drawn() -> None:
    points = curve_points(TelemetryStore().rates.series(60), 0, 400)
    assert (len(points.seconds), len(points.joined), len(points.heights(np.zeros(0)))) == (0, 0, 0)
