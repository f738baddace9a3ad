"""How long the window's event loop is kept waiting while a long prompt is read with all cores busy.

    python -m tests.support.measure_event_loop MODEL [--ram 2.3GiB] [--prompt-characters 4200] [--closed]

Needs a display (or QT_QPA_PLATFORM=offscreen, which draws the same without showing it). Prints one JSON
document: gaps between ticks of a 5 ms timer, in milliseconds, from Enter to the first token.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PySide6.QtCore import QSettings, QTimer

from app.engine_bridge import EngineBridge
from app.gui_collector import GuiCollector
from app.history.store import HistoryStore
from app.main_window import MainWindow, Surroundings
from app.program import backend_factory, new_application
from app.theme import Theme
from engine.config import LoadSettings, parse_size_bytes
from engine.events import Event, ModelLoaded, RequestFailed, TextDelta
from engine.service import Engine

TICK_MS = 5


class Measurement:
    """Drives the window and keeps the times of the ticks between Enter and the first token."""

    def __init__(self, window: MainWindow, bridge: EngineBridge, prompt: str, is_closed: bool) -> None:
        self.gaps_ms: list[float] = []
        self.prefill_seconds = 0.0
        self._window, self._prompt, self._is_closed = window, prompt, is_closed
        self._started = self._last = 0.0
        self._timer = QTimer()
        self._timer.timeout.connect(self._tick)
        bridge.events_ready.connect(self._take)

    def _take(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, RequestFailed):
                raise SystemExit(str(event.error))
            if isinstance(event, ModelLoaded):
                QTimer.singleShot(500, self._send)
            if isinstance(event, TextDelta) and self._started:
                self.prefill_seconds = time.perf_counter() - self._started
                self._timer.stop()
                self._window.stop()
                self._window.close()
                return

    def _send(self) -> None:
        self._window.inspector.setVisible(not self._is_closed)
        self._started = self._last = time.perf_counter()
        self._timer.start(TICK_MS)
        composer = self._window.chat.view.composer
        composer.setPlainText(self._prompt)
        composer.submit()

    def _tick(self) -> None:
        now = time.perf_counter()
        self.gaps_ms.append((now - self._last) * 1e3)
        self._last = now


def main() -> None:
    """Measure once and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--ram", default="2.3GiB")
    parser.add_argument("--prompt-characters", type=int, default=4200)
    parser.add_argument("--closed", action="store_true", help="with the inspector closed")
    options = parser.parse_args()
    application = new_application()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        settings = QSettings(str(data / "window.ini"), QSettings.Format.IniFormat)
        store = HistoryStore(data / "conversations.sqlite3")
        bridge = EngineBridge(Engine(backend_factory(False)))
        load = LoadSettings(options.model, parse_size_bytes(options.ram), options.prompt_characters + 512)
        window = MainWindow(
            bridge, store, Theme(application), Surroundings(data, settings, load, None, False)
        )
        window.finished.connect(application.quit)
        words = "the quick brown fox jumps over the lazy dog "
        prompt = (words * (options.prompt_characters // len(words) + 1))[: options.prompt_characters]
        measurement = Measurement(window, bridge, prompt, options.closed)
        window.show()
        window.models.load(load)
        collector = GuiCollector(lambda: window.chat.answering.is_busy)  # as the program does
        application.exec()
        collector.close()
        bridge.close()
        store.close()
    gaps = np.array(measurement.gaps_ms)
    figures = {
        "prefill_seconds": round(measurement.prefill_seconds, 1),
        "ticks": len(gaps),
        **{f"p{q}_ms": round(float(np.percentile(gaps, q)), 1) for q in (50, 90, 99)},
        "worst_ms": round(float(gaps.max()), 1),
        "over_100_ms": int((gaps > 100).sum()),
    }
    sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()
