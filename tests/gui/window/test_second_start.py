"""A second start hands over its file; a dead or foreign server is no obstacle."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtNetwork import QLocalSocket
from pytestqt.qtbot import QtBot

from app.second_start import FirstStart, _server_name
from tests.support.running_window import PATIENCE_MS

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def first(qtbot: QtBot, tmp_path: Path) -> Iterator[FirstStart]:
    server = FirstStart(tmp_path)
    assert server.is_listening
    yield server
    server.close()
    server.deleteLater()


def second_start(qtbot: QtBot, data_dir: Path, model: Path | None) -> bool:
    """What another process is told, while this one's event loop runs."""
    code = "import sys, pathlib as p; from app.second_start import hand_over; " \
        "sys.exit(not hand_over(p.Path(sys.argv[1]), *(p.Path(each) for each in sys.argv[2:])))"  # fmt: skip
    arguments = [str(data_dir)] + ([] if model is None else [str(model)])
    with subprocess.Popen([sys.executable, "-c", code, *arguments], cwd=ROOT) as process:
        qtbot.waitUntil(lambda: process.poll() is not None, timeout=PATIENCE_MS)
    return process.returncode == 0


@pytest.mark.parametrize("name", ["田中　model.gguf", None])
def test_the_file_arrives(qtbot: QtBot, tmp_path: Path, first: FirstStart, name: str | None) -> None:
    model = None if name is None else tmp_path / name
    taken: list[Path | None] = []
    first.started_again.connect(taken.append)
    assert second_start(qtbot, tmp_path, model)
    assert taken == [model]


def test_another_folder_is_another_program(qtbot: QtBot, tmp_path: Path, first: FirstStart) -> None:
    assert not second_start(qtbot, tmp_path / "other", None)


def test_words_that_make_no_sense_are_not_taken(qtbot: QtBot, tmp_path: Path, first: FirstStart) -> None:
    taken: list[Path | None] = []
    first.started_again.connect(taken.append)
    socket = QLocalSocket()
    socket.connectToServer(_server_name(tmp_path))
    socket.write(b'{"model": 3}\n')
    qtbot.waitUntil(lambda: socket.state() == QLocalSocket.LocalSocketState.UnconnectedState)
    assert (taken, bytes(socket.readAll().data())) == ([], b"")


def test_what_a_killed_program_left_does_not_keep_the_next_from_listening(
    qtbot: QtBot, tmp_path: Path
) -> None:
    dead = FirstStart(tmp_path)
    path = Path(dead._server.fullServerName())
    dead.close()
    # the socket file of a process that was killed stays behind
    path.touch()
    again = FirstStart(tmp_path)
    assert again.is_listening
    assert second_start(qtbot, tmp_path, None)
    again.close()
