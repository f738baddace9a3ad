"""Kills the whole program at random moments of a scripted session and looks at what is left.

    python -m tests.support.killed_session [--times 50] [--seed 1]

The program runs with the simulated model, always on the same data folder, and says every few milliseconds
which messages are on the screen and how long they are. After each kill the database must open, pass SQLite's
own integrity check, and hold every message that was on the screen for more than a second, as long as it was.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from itertools import cycle
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from app import program
from app.arguments import Arguments
from app.history.store import HistoryStore
from app.main_window import MainWindow

_ROOT = Path(__file__).resolve().parents[2]
_ACTION_MS, _REPORT_MS = 170, 40
_LATEST_KILL_SECONDS = 5.0
_ON_SCREEN_SECONDS = 1.0


class ScriptedUser:
    """Does one thing after the other, over and over, and prints what is on the screen."""

    def __init__(self, window: MainWindow) -> None:
        self._window = window
        self._steps = cycle(self._script())
        self._act, self._report = QTimer(), QTimer()
        self._act.timeout.connect(self._do_next)
        self._report.timeout.connect(self._print)
        self._act.start(_ACTION_MS)
        self._report.start(_REPORT_MS)

    def _do_next(self) -> None:
        next(self._steps)()

    def _script(self) -> list[Callable[[], object]]:
        chat, view = self._window.chat, self._window.chat.view
        wait = list[Callable[[], object]]([lambda: None] * 3)
        return [
            chat.begin_new, lambda: self._say("Tell me everything."), *wait,
            lambda: self._say("なぜ？ Queued behind it."), lambda: self._with_id(self._rename), *wait,
            view.stop, lambda: self._with_id(lambda number: chat.set_pinned(number, True)),
            view.answer_again, *wait, lambda: self._with_id(chat.duplicate),
            chat.begin_new, lambda: self._say("Another one, deleted soon."), *wait,
            lambda: self._with_id(chat.delete),
        ]  # fmt: skip

    def _say(self, text: str) -> None:
        self._window.chat.view.composer.setPlainText(text)
        self._window.chat.view.composer.submit()

    def _rename(self, number: int) -> None:
        self._window.chat.rename(number, f"Named at {time.monotonic():.3f}")

    def _with_id(self, act: Callable[[int], object]) -> None:
        number = self._window.chat.view.conversation_id
        if number is not None:
            act(number)

    def _print(self) -> None:
        chat = self._window.chat
        number = chat.view.conversation_id
        shown = {message.id: len(message.text) for message in chat.view.transcript._messages}
        run = chat.answering.run_of(number)
        if run is not None:
            shown[run.message.id] = len(run.text)
        sys.stdout.write(json.dumps([time.monotonic(), shown]) + "\n")
        sys.stdout.flush()


def play(data_dir: Path) -> int:
    """The program with the scripted user; ends only by a kill."""
    show, users = program._show, []

    def show_scripted(application: QApplication, window: MainWindow, arguments: Arguments) -> int:
        users.append(ScriptedUser(window))
        return show(application, window, arguments)

    program._show = show_scripted
    return program.run(Arguments(data_dir=data_dir, is_simulated=True))


def kill_once(data_dir: Path, seconds: float) -> list[tuple[float, dict[str, int]]]:
    """Run, kill after `seconds`; what the screen showed, line by line."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.killed_session", "--play", str(data_dir)],
        cwd=_ROOT, env={**os.environ, "QT_QPA_PLATFORM": "offscreen"}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    with process:
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        assert process.stdout is not None
        lines = [line for line in process.stdout if line.endswith("\n")]
    return [(moment, shown) for moment, shown in map(json.loads, lines)]


def find_losses(data_dir: Path, lines: list[tuple[float, dict[str, int]]]) -> list[str]:
    """Open the database as the program does; what is wrong with it, empty if nothing is."""
    path = data_dir / "conversations.sqlite3"
    store = HistoryStore(path)
    note = store.opening_note
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        verdict = connection.execute("PRAGMA integrity_check").fetchone()[0]
        kept = dict(connection.execute("SELECT id, length(text) FROM messages").fetchall())
    faults = [] if verdict == "ok" else [str(verdict)]
    faults += [note] if "damaged" in note else []
    end = lines[-1][0] if lines else 0.0
    for moment, shown in lines:
        if moment <= end - _ON_SCREEN_SECONDS:
            faults += [
                f"message {number}: {kept.get(int(number))} of {length} characters"
                for number, length in shown.items()
                if kept.get(int(number), -1) < length
            ]
    return sorted(set(faults))


def main() -> int:
    """Kill so many times; the exit code is 1 if anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--play", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.play is not None:
        return play(options.play)
    chance, faults, lines = random.Random(options.seed), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.times):
            seen = kill_once(Path(folder), chance.uniform(0.3, _LATEST_KILL_SECONDS))
            lost = find_losses(Path(folder), seen)
            faults, lines = faults + bool(lost), lines + len(seen)
            sys.stdout.write(
                f"kill {number + 1}: {len(seen)} looks at the screen, {lost or 'nothing lost'}\n"
            )
            sys.stdout.flush()
    sys.stdout.write(f"{options.times} kills, {lines} looks at the screen, {faults} with losses\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
