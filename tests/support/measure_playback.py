"""How long the window's event loop is kept waiting while a recording is played in the inspector.

    QT_QPA_PLATFORM=offscreen python -m tests.support.measure_playback [RECORDING] [--steps 200]

The slider is moved through the recording in `--steps` steps and back, on every view. Prints one JSON
document: gaps between ticks of a 5 ms timer, in milliseconds, and the longest time a step took the processor.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication, QTabWidget

from app.inspector.inspector_dock import InspectorDock
from app.playback import Playback
from app.telemetry_store import TelemetryStore

GOLDEN = Path(__file__).parents[1] / "golden" / "small_run.embertrace"
TICK_MS, STEP_MS = 5, 10


class Player:
    """Moves the slider on a timer, and keeps the gaps between the ticks of another."""

    def __init__(self, dock: InspectorDock, places: list[float]) -> None:
        self.gaps_ms: list[float] = []
        self._dock, self._places, self._loop = dock, places, QEventLoop()
        self._last = self.worst_step_ms = 0.0

    def play(self) -> None:
        """To the end."""
        tick, step = QTimer(), QTimer()
        tick.timeout.connect(self._tick)
        step.timeout.connect(self._step)
        self._last = time.perf_counter()
        tick.start(TICK_MS)
        step.start(STEP_MS)
        self._loop.exec()

    def _tick(self) -> None:
        now = time.perf_counter()
        self.gaps_ms.append((now - self._last) * 1e3)
        self._last = now

    def _step(self) -> None:
        if self._places:
            began = time.thread_time()
            self._dock.replay_bar.go_to(self._places.pop())
            self.worst_step_ms = max(self.worst_step_ms, (time.thread_time() - began) * 1e3)
        else:
            self._loop.quit()


def measure(path: Path, steps: int) -> dict[str, object]:
    """Forth and back on every view."""
    dock = InspectorDock(TelemetryStore())
    dock.resize(460, 900)
    dock.show()
    QApplication.processEvents()
    playback = Playback(path)
    dock.show_recording(playback)
    tabs = dock.findChild(QTabWidget)
    forth = np.linspace(0, playback.span_ns / 1e9, steps).tolist()
    gaps: list[float] = []
    worst_step_ms = 0.0
    for index in range(tabs.count()):
        tabs.setCurrentIndex(index)
        QApplication.processEvents()
        player = Player(dock, [*forth, *reversed(forth)])
        player.play()
        gaps += player.gaps_ms
        worst_step_ms = max(worst_step_ms, player.worst_step_ms)
    dock.close()
    return {
        "ticks": len(gaps),
        **{f"p{q}_ms": round(float(np.percentile(gaps, q)), 1) for q in (50, 99)},
        "worst_ms": round(max(gaps), 1),
        "worst_step_cpu_ms": round(worst_step_ms, 1),
        "load_average": round(os.getloadavg()[0], 1),
        "over_100_ms": sum(gap > 100 for gap in gaps),
    }


def main() -> None:
    """Measure once and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recording", type=Path, nargs="?", default=GOLDEN)
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()
    application = QApplication.instance() or QApplication(sys.argv[:1])
    sys.stdout.write(json.dumps(measure(options.recording, options.steps)) + "\n")
    application.quit()


if __name__ == "__main__":
    main()
