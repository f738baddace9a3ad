"""Thousands of refreshes: a binding that loses references aborts the process, so it runs in its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
SCRIPT = """
import sys
import numpy as np
from PySide6.QtWidgets import QApplication, QTabWidget
from app.inspector.inspector_dock import InspectorDock
from app.telemetry_store import TelemetryStore
from tests.support.telemetry_events import answer_event, counters_event, experts_event
from tests.support.telemetry_events import layers_event, load_events, model_info
from engine.events import TtftPhases

app = QApplication([])
store = TelemetryStore()
dock = InspectorDock(store)
dock.resize(420, 700)
dock.show()
app.processEvents()
store.apply(load_events(model_info()))
tabs = dock.findChild(QTabWidget)
before = sys.getrefcount(None)
for step in range(3000):
    uses = [[step] * 8] * 3
    tiers = [[2 * ((step + place) % 3 > 0) for place in range(8)]] * 3
    costs = ((step,) * 3, (step,) * 3)
    store.apply(
        [
            counters_event(step / 5, bytes_read=step, decode_tokens=step),
            experts_event(step / 5, uses, tiers=tiers),
            layers_event(step / 5, compute_ns=costs, disk_wait_ns=costs, misses=costs),
        ]
    )
    if step % 100 == 0:
        store.apply([answer_event(step / 5, TtftPhases(queue_ns=step))])
        tabs.setCurrentIndex(step // 100 % tabs.count())
    dock.refresh()
    if step % 10 == 0:
        app.processEvents()
print("lost references to None:", before - sys.getrefcount(None))
"""


def test_three_thousand_refreshes_end_well() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lost = int(done.stdout.rsplit(":", 1)[1])
    assert lost < 500
