"""The program as a process: it quits cleanly on signals and says what keeps it from starting."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.history.store import HistoryStore
from engine.telemetry.last_words import LastWords
from tests.support.running_window import PATIENCE_MS

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals as on Unix")
# starts the program and says on stdout when its event loop runs
_START = """
import sys
from PySide6.QtCore import QTimer
from app import program
shown = program._show
def show(application, window, arguments):
    QTimer.singleShot(0, lambda: print("up", flush=True))
    return shown(application, window, arguments)
program._show = show
from app.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


@contextmanager
def program(data_dir: Path, *arguments: str, start: str = _START) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", start, "--data-dir", str(data_dir), *arguments],
        cwd=ROOT, env={**os.environ, "QT_QPA_PLATFORM": "offscreen"}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    with process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_signals_end_it_cleanly(tmp_path: Path, number: int, code: int) -> None:
    with program(tmp_path, "--simulate") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE_MS / 1000)
    assert (process.returncode, errors) == (code, "")
    assert "closed in" in (tmp_path / "logs" / "emberglass.log").read_text(encoding="utf-8")
    HistoryStore(tmp_path / "conversations.sqlite3").close()


def test_after_an_abort_the_next_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    message = "/src/ggml-cuda/ggml-cuda.cu:98: CUDA error"
    LastWords(message, "", ("CUDA0",), "big.gguf").write(tmp_path / "logs" / "last_words.json")
    start = _START.replace('print("up", flush=True)', "print(window.notice.text, flush=True)")
    for is_first in (True, False):
        with program(tmp_path, "--simulate", start=start) as process:
            assert process.stdout is not None
            said = process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE_MS / 1000)
        assert ("the device “CUDA0” failed: CUDA error" in said) is is_first  # said once
    assert message in (tmp_path / "logs" / "emberglass.log").read_text(encoding="utf-8")


def test_a_second_start_hands_its_file_to_the_first_and_ends(tmp_path: Path) -> None:
    with program(tmp_path, "--simulate") as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "up\n"
        with program(tmp_path, str(tmp_path / "model.gguf")) as second:
            output, errors = second.communicate(timeout=PATIENCE_MS / 1000)
        assert (second.returncode, output, errors) == (0, "", "")
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=PATIENCE_MS / 1000)
    assert first.returncode == 0


def test_a_data_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with program(tmp_path / "file" / "folder") as process:
        _, errors = process.communicate(timeout=PATIENCE_MS / 1000)
    assert process.returncode == 1
    assert len(errors.splitlines()) == 1
    assert "data folder" in errors
