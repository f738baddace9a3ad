"""The costs of layers on the screen."""

from __future__ import annotations

from PySide6.QtWidgets import QComboBox
from pytestqt.qtbot import QtBot

from app.inspector.layers_view import LayersView
from app.telemetry_store import TelemetryStore
from tests.support.telemetry_events import experts_event, layers_event, load_events, model_info

MS = 1_000_000


def test_layers_follow_phase_and_time(qtbot: QtBot) -> None:
    view = LayersView()
    qtbot.addWidget(view)
    store = TelemetryStore()
    store.apply([*load_events(model_info()), experts_event(0, [[0] * 8] * 3)])
    view.draw(store)
    assert view.notice.startswith("No figures about layers yet.")
    prefill, quiet = (5 * MS, 0, 0), (0, 0, 0)
    store.apply([layers_event(0, disk_wait_ns=(prefill, quiet))])
    store.apply([layers_event(2, disk_wait_ns=(prefill, (0, 0, 9 * MS)), misses=(quiet, (0, 0, 3)))])
    view.draw(store)
    assert view.notice == ""
    assert view.rows[0] == ("5", "0 ms", "9.0 ms", "0 ms", "0 ms", "3")
    phase, time = view.findChildren(QComboBox)
    time.setCurrentText("Since the model was loaded")
    assert view.rows[-1] == ("all 3", "0 ms", "14 ms", "0 ms", "0 ms", "3")
    phase.setCurrentText("Prefill")
    assert view.words.startswith("Layer 3 cost most: 5.0 ms, 100 % of all layers’ 5.0 ms;")
