"""The warm-up button of the inspector, with a simulated engine behind it."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt

from engine.events import EngineState, WarmUpFinished
from tests.support.running_window import OpenWindow, quick_backend


def test_a_warm_up_from_the_button_to_its_figures(open_window: OpenWindow) -> None:
    scene = open_window()
    scene.load()
    panel, telemetry = scene.window.inspector._slots.warm_up, scene.window.telemetry
    panel.wanted.emit()
    scene.until(lambda: telemetry.warm_up is not None)
    done = telemetry.warm_up
    assert isinstance(done, WarmUpFinished)
    assert done.experts_loaded > 0
    assert telemetry.counters is not None
    assert telemetry.counters.bytes_by_reason["warm_up"] == done.bytes_read
    assert scene.window.notice.text.startswith(f"Warmed up: {done.experts_loaded:,} experts read;")
    assert not scene.window.warm_ups.is_running


def test_escape_stops_a_warm_up(open_window: OpenWindow) -> None:
    # one megabyte per second: it would take an hour
    scene = open_window(partial(quick_backend, disk_bytes_per_second=1e6, dense_bytes=0))
    scene.load()
    scene.window.inspector.warm_up_wanted.emit()
    scene.until(lambda: scene.window.telemetry.state is EngineState.WARMING_UP)
    scene.press(Qt.Key.Key_Escape)
    scene.until(lambda: not scene.window.warm_ups.is_running)
    assert scene.window.notice.text == "The warm-up was stopped; what had come into memory stays."
    assert scene.window.telemetry.warm_up is None
