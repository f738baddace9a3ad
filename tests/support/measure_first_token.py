"""From the window showing to the demo model's first token: `python -m tests.support.measure_first_token`.

A new process with an empty data folder, as a first start: the demo model loads by itself, and a question
is asked as soon as the window is there.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from PySide6.QtCore import QSettings, QTimer

from app.engine_bridge import EngineBridge
from app.gui_collector import GuiCollector
from app.history.store import HistoryStore
from app.main_window import MainWindow, Surroundings
from app.program import backend_factory, new_application
from app.theme import Theme
from engine.config import LoadSettings
from engine.demo_model import demo_settings
from engine.events import Event, ModelLoaded, RequestFailed, TextDelta
from engine.service import Engine


def main() -> None:
    """Measure once and print."""
    application = new_application()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        settings = QSettings(str(data / "window.ini"), QSettings.Format.IniFormat)
        store = HistoryStore(data / "conversations.sqlite3")
        bridge = EngineBridge(Engine(backend_factory(False)))
        surroundings = Surroundings(data, settings, LoadSettings(Path("simulated")), demo_settings())
        window = MainWindow(bridge, store, Theme(application), surroundings)
        window.finished.connect(application.quit)
        window.show()
        shown = time.perf_counter()
        loaded: list[float] = []

        def ask() -> None:
            window.models.load_first()
            window.chat.begin_new()
            window.chat.view.composer.setPlainText("What is a slot?")
            window.chat.view.composer.submit()

        def take(events: list[Event]) -> None:
            for event in events:
                if isinstance(event, RequestFailed):
                    raise SystemExit(str(event.error))
                if isinstance(event, ModelLoaded):
                    loaded.append(time.perf_counter() - shown)
                if isinstance(event, TextDelta):
                    first = time.perf_counter() - shown
                    sys.stdout.write(f"loaded after {loaded[0]:.2f} s, first token after {first:.2f} s\n")
                    window.close()
                    return

        bridge.events_ready.connect(take)
        QTimer.singleShot(0, ask)
        collector = GuiCollector(lambda: window.chat.answering.is_busy)  # as the program does
        application.exec()
        collector.close()
        bridge.close()
        store.close()


if __name__ == "__main__":
    main()
