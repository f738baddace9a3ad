"""From a key press to its letter on screen: `python -m tests.support.measure_keystroke` prints the figures.

A conversation of 1,000 messages is open, the inspector too; once at rest and once while an answer streams
at 100 tokens a second from the simulated model.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QEvent, QEventLoop, QObject, QSettings, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication

from app.engine_bridge import EngineBridge
from app.history.store import HistoryStore
from app.main_window import MainWindow, Surroundings
from app.program import new_application
from app.theme import Theme
from engine.backends.fake import FakeBackend
from engine.backends.fake_script import FakeScript
from engine.config import LoadSettings
from engine.service import Engine

_MESSAGES, _KEYS, _PAUSE_SECONDS = 1000, 120, 0.02
_SCRIPT = FakeScript(
    load_seconds=0.1,
    initialise_seconds=0.0,
    prefill_token_seconds=0.0,
    decode_token_seconds=0.01,
    default_answer="Words and `code` and a table, again and again. " * 2000,
)


class _Painted(QObject):
    """Notes when the watched widget was painted."""

    def __init__(self) -> None:
        super().__init__()
        self.at_seconds = 0.0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            self.at_seconds = time.perf_counter()
        return False


def main() -> None:
    """Measure and print both figures."""
    application = new_application()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        settings = QSettings(str(data / "window.ini"), QSettings.Format.IniFormat)
        store = HistoryStore(data / "conversations.sqlite3")
        conversation = store.create_conversation("Long")
        for number in range(_MESSAGES // 2):
            store.add_user_message(conversation.id, f"Question {number}? " * 10)
            answer = store.begin_answer(conversation.id, "Simulated")
            store.finish_answer(answer.id, f"Answer **{number}** in some words. " * 12, "complete")
        bridge = EngineBridge(Engine(lambda: FakeBackend(_SCRIPT)))
        load = LoadSettings(Path("simulated run"))
        window = MainWindow(bridge, store, Theme(application), Surroundings(data, settings, load))
        window.show()
        window.models.load(load)
        window.chat.open(conversation.id)
        _wait(application, lambda: window.models.model is not None)
        _report("at rest", _keystrokes(application, window))
        window.chat.view.composer.setPlainText("Go on.")
        window.chat.view.composer.submit()
        _wait(application, lambda: window.chat.answering.is_busy)
        _report("while an answer streams", _keystrokes(application, window))
        window.close()
        bridge.close()
        store.close()


def _keystrokes(application: QApplication, window: MainWindow) -> list[float]:
    composer, painted = window.chat.view.composer, _Painted()
    composer.viewport().installEventFilter(painted)
    composer.setFocus()
    times = []
    for _ in range(_KEYS):
        _pass(application, _PAUSE_SECONDS)
        pressed = time.perf_counter()
        press = QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_A, Qt.KeyboardModifier.NoModifier, "a")
        application.postEvent(composer, press)
        _wait(application, lambda since=pressed: painted.at_seconds > since)
        times.append((painted.at_seconds - pressed) * 1e3)
    composer.viewport().removeEventFilter(painted)
    return times


def _pass(application: QApplication, seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        application.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 5)


def _wait(application: QApplication, is_wanted: object) -> None:
    assert callable(is_wanted)
    end = time.perf_counter() + 30
    while not is_wanted():
        application.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 5)
        if time.perf_counter() > end:
            raise SystemExit("nothing happened for 30 seconds")


def _report(state: str, times: list[float]) -> None:
    worst = sorted(times)[-1]
    sys.stdout.write(f"{state}: median {median(times):.1f} ms, worst {worst:.1f} ms of {len(times)} keys\n")


if __name__ == "__main__":
    main()
