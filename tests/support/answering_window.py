"""The program itself, answering with the simulated model until it is killed.

Run as `python -m tests.support.answering_window DATA_DIR`. After each batch of events it prints a line:
seconds on the monotonic clock and the number of characters of the answer that have been shown.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from PySide6.QtWidgets import QApplication

from app import program
from app.arguments import Arguments
from app.main_window import MainWindow
from engine.events import Event, ModelLoaded, TextDelta

QUESTION = "なぜ？ Tell me everything."


class Reporter:
    """Asks as soon as the model is loaded and says what has been shown."""

    def __init__(self, window: MainWindow) -> None:
        self._window, self._shown = window, 0

    def take(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, ModelLoaded):
                self._window.chat.view.composer.setPlainText(QUESTION)
                self._window.chat.view.composer.submit()
            if isinstance(event, TextDelta):
                self._shown += len(event.text)
        sys.stdout.write(f"{time.monotonic():.6f} {self._shown}\n")
        sys.stdout.flush()


def main(data_dir: Path) -> int:
    shown = program._show

    def show(application: QApplication, window: MainWindow, arguments: Arguments) -> int:
        reporter = Reporter(window)
        window._bridge.events_ready.connect(reporter.take)  # after the window's own
        return shown(application, window, arguments)

    program._show = show
    return program.run(Arguments(data_dir=data_dir, is_simulated=True))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
