"""Measuring memory and drive on request, and what becomes of it."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from pytestqt.qtbot import QtBot

from app.inspector.inspector_dock import InspectorDock
from app.inspector.numbers_view import NumbersView
from app.inspector.rate_probe import MeasuredRates, RateProbe, measure_rates
from app.telemetry_store import TelemetryStore
from engine.errors import DiskReadError
from engine.events import EngineState
from engine.model_facts import ModelInfo
from tests.support.telemetry_events import load_events, model_info, state_event


def shown_dock(qtbot: QtBot) -> tuple[InspectorDock, NumbersView, TelemetryStore]:
    store = TelemetryStore()
    dock = InspectorDock(store)
    qtbot.addWidget(dock)
    dock.show()
    qtbot.waitUntil(lambda: dock.is_seen)
    view = dock.findChild(NumbersView)
    view.draw(store)
    assert not view.measure_button.isEnabled()
    store.apply(load_events(model_info()))
    view.draw(store)
    return dock, view, store


def test_a_measurement_is_told_beside_what_is_needed(qtbot: QtBot) -> None:
    dock, view, store = shown_dock(qtbot)
    assert view.texts["measured memory bandwidth"] == "not measured"
    dock.probe._measure = lambda _model: MeasuredRates(1.2e10, 2.3e9)
    with qtbot.waitSignal(dock.probe.done):
        view.measure_button.click()
    view.draw(store)
    assert view.texts["measured memory bandwidth"] == "12 GB/s"
    assert view.texts["measured maximum of the drive"] == "2.3 GB/s"
    assert store.drive_ceiling.share(1.15e9) == 0.5
    store.apply([state_event(1, EngineState.GENERATING)])
    view.draw(store)
    assert not view.measure_button.isEnabled()


def test_a_fault_is_told_and_it_can_be_tried_again(qtbot: QtBot) -> None:
    dock, view, store = shown_dock(qtbot)

    def fail(_model: ModelInfo) -> MeasuredRates:
        raise DiskReadError("The drive rate could not be measured.", "Check the disk.")

    dock.probe._measure = fail
    with qtbot.waitSignal(dock.probe.failed):
        view.measure_button.click()
    assert view.fault_text == "The drive rate could not be measured. Check the disk."
    assert view.measure_button.isEnabled()
    assert store.measured_memory_bytes_per_second is None


def test_a_file_is_really_read(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(os.urandom(1 << 20))
    rates = measure_rates(dataclasses.replace(model_info(), path=str(path), expert_bytes=10_000))
    assert rates.drive_bytes_per_second > 1e5
    assert rates.memory_bytes_per_second > 1e8


def test_one_measurement_at_a_time(qtbot: QtBot) -> None:
    probe = RateProbe(lambda _model: MeasuredRates(1.0, 1.0))
    assert not probe.is_running
    with qtbot.waitSignal(probe.done):
        probe.start(model_info())
