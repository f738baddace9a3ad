"""The costs of layers on the screen."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtWidgets import QComboBox
from pytestqt.qtbot import QtBot

from app.inspector.cost_bars import CostBars
from app.inspector.layer_axis import steady_top
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


@pytest.mark.parametrize(
    ("shown", "highest", "top"),
    [
        (1.0, 0.0, 1.0),
        (1.0, 0.9, 1.0),
        (1.0, 1.1, 1.2),
        (1.2, 0.61, 1.2),
        (1.2, 0.59, 0.6),
        (0.6, 734.0, 800.0),
        (800.0, 1000.0, 1000.0),
        (800.0, 0.0, 1.0),
    ],
)
def test_an_axis_moves_only_when_it_must(shown: float, highest: float, top: float) -> None:
    assert steady_top(shown, highest) == pytest.approx(top)


def test_growing_costs_leave_the_axes_alone(qtbot: QtBot) -> None:
    bars = CostBars()
    qtbot.addWidget(bars)
    moved: list[object] = []
    costs = np.full((5, 3), 40 * MS)
    costs[4] = 40
    bars.draw(costs, (3, 4, 5))
    for plot in (bars._times, bars._misses):
        plot.getViewBox().sigRangeChanged.connect(lambda *_: moved.append(1))
    # 160 ms and 40 misses: axes up to 200 and 40
    for growth in range(10):
        costs[0] += growth * MS // 2
        bars.draw(costs, (3, 4, 5))
    assert moved == []
    assert bars._times.getViewBox().viewRange()[1] == [0, 200]
    assert bars._misses.getViewBox().viewRange()[1] == [0, 40]
