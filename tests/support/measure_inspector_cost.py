"""What the open inspector costs: speed of decoding against the closed one, and the processor while idle.

    python -m tests.support.measure_inspector_cost MODEL [--ram 512MiB] [--slots N] [--pairs 12] [--tab Slots]

Needs a display (or QT_QPA_PLATFORM=offscreen, which draws the same without showing it). Answers alternate
between open and closed, so that whatever else the machine does falls on both. Prints one JSON document:
decode tokens per second (medians), the part of the speed that is lost (median over neighbouring answers, with
its quartiles, and between the fastest tenths), the window thread's processor time per second, the same while
idle, and the load average.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from itertools import pairwise
from pathlib import Path

from PySide6.QtCore import QEventLoop, Qt, QTimer
from PySide6.QtWidgets import QLabel, QMainWindow, QTabWidget

from app.engine_bridge import EngineBridge
from app.inspector.inspector_dock import InspectorDock
from app.program import backend_factory, new_application
from app.telemetry_store import TelemetryStore
from engine.config import ChatMessage, LoadSettings, SamplingSettings, parse_size_bytes
from engine.events import Event, GenerationFinished, ModelLoaded, RequestFailed
from engine.service import Engine

QUESTIONS = (
    "What is a slot?",
    "How does the engine choose what to evict?",
    "What does the verdict say?",
    "Why is the first answer slow?",
)


_SETTLE_MS = 400


class Measurement:
    """A window with the dock alone, and an engine that answers one question after the other."""

    def __init__(self, load: LoadSettings, tab: str, max_tokens: int) -> None:
        self.store, self.window = TelemetryStore(), QMainWindow()
        self.dock = InspectorDock(self.store)
        self.window.setCentralWidget(QLabel("chat"))
        self.window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, self.dock)
        self.window.resize(1280, 800)
        self.window.resizeDocks([self.dock], [460], Qt.Orientation.Horizontal)
        self.window.show()
        tabs = self.dock.findChild(QTabWidget)
        tabs.setCurrentIndex([tabs.tabText(i) for i in range(tabs.count())].index(tab))
        self.bridge = EngineBridge(Engine(backend_factory(False)))
        self.bridge.events_ready.connect(self._take)
        self._outcome: Event | None = None
        self._loop = QEventLoop()
        self._sampling = SamplingSettings(temperature=0.0, max_tokens=max_tokens)
        self.bridge.load(load)
        self._wait()

    def _take(self, events: list[Event]) -> None:
        self.store.apply(events)
        for event in events:
            if isinstance(event, RequestFailed):
                raise SystemExit(str(event.error))
            if isinstance(event, GenerationFinished | ModelLoaded):
                self._outcome = event
                self._loop.quit()

    def _wait(self) -> Event:
        self._loop.exec()
        assert self._outcome is not None
        return self._outcome

    def _let_pass(self, milliseconds: int) -> None:
        QTimer.singleShot(milliseconds, self._loop.quit)
        self._loop.exec()

    def answer(self, number: int, is_open: bool) -> tuple[float, float]:
        """Decode tokens per second, and processor seconds of this thread per second."""
        self.dock.setVisible(is_open)
        self._let_pass(_SETTLE_MS)  # laying the dock out is no part of what it costs while open
        self.bridge.generate([ChatMessage("user", QUESTIONS[number % len(QUESTIONS)])], self._sampling)
        began, cpu = time.perf_counter(), time.thread_time()
        finished = self._wait()
        assert isinstance(finished, GenerationFinished)
        share = (time.thread_time() - cpu) / (time.perf_counter() - began)
        return finished.usage.decode_tokens_per_second, share

    def idle(self, seconds: float, is_open: bool) -> float:
        """Processor seconds of the whole process per second while nothing runs."""
        self.dock.setVisible(is_open)
        self._let_pass(1000)
        began, cpu = time.perf_counter(), time.process_time()
        self._let_pass(round(seconds * 1000))
        return (time.process_time() - cpu) / (time.perf_counter() - began)


def measure(run: Measurement, pairs: int, idle_seconds: float) -> dict[str, object]:
    """Closed and open by turns; the first two answers only warm everything up."""
    for number in range(2):
        run.answer(number, is_open=bool(number))
    speeds: dict[bool, list[float]] = {False: [], True: []}
    shares: dict[bool, list[float]] = {False: [], True: []}
    order: list[tuple[bool, float]] = []
    for number in range(2 * pairs):
        is_open = bool(number % 2)
        # two answers of a pair are to the same question
        speed, share = run.answer(number // 2, is_open)
        speeds[is_open].append(speed)
        shares[is_open].append(share)
        order.append((is_open, speed))
    # each neighbour pair once, in either order: a slow drift falls on both sides
    lost = [1 - (b if b_open else a) / (a if b_open else b) for (_, a), (b_open, b) in pairwise(order)]
    low, _, high = statistics.quantiles(lost, n=4)
    return {
        "closed_tokens_per_second": round(statistics.median(speeds[False]), 2),
        "open_tokens_per_second": round(statistics.median(speeds[True]), 2),
        "lost_share": round(statistics.median(lost), 4),
        "lost_share_quartiles": [round(low, 4), round(high, 4)],
        "lost_share_undisturbed": round(1 - fastest(speeds[True]) / fastest(speeds[False]), 4),
        "window_cores_closed": round(statistics.median(shares[False]), 4),
        "window_cores_open": round(statistics.median(shares[True]), 4),
        "idle_cores_closed": round(run.idle(idle_seconds, is_open=False), 4),
        "idle_cores_open": round(run.idle(idle_seconds, is_open=True), 4),
    }


def fastest(speeds: list[float]) -> float:
    """What a tenth of the answers reach: those that other work on the machine disturbed least."""
    return statistics.quantiles(speeds, n=10)[-1]


def main() -> None:
    """Measure once and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--ram", type=parse_size_bytes, default=None)
    parser.add_argument("--slots", type=int, default=None, help="slots of each class of layers")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--max-tokens", type=int, default=64)
    parser.add_argument("--idle-seconds", type=float, default=10.0)
    parser.add_argument("--tab", default="Experts")
    options = parser.parse_args()
    application = new_application()
    load = LoadSettings(
        options.model,
        options.ram,
        context_tokens=1024,
        threads=options.threads,
        slots_per_class=options.slots,
    )
    before = os.getloadavg()[0]
    run = Measurement(load, options.tab, options.max_tokens)
    figures = measure(run, options.pairs, options.idle_seconds)
    run.window.close()
    run.bridge.close()
    loads = [round(before, 1), round(os.getloadavg()[0], 1)]
    sys.stdout.write(json.dumps({"tab": options.tab, **figures, "load_average": loads}) + "\n")
    application.quit()


if __name__ == "__main__":
    main()
