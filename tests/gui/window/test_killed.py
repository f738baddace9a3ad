"""kill -9 in mid-answer: the conversation is there afterwards, at most a second of text lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.history.records import INTERRUPTED
from app.history.store import HistoryStore
from tests.support.answering_window import QUESTION

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.skipif(os.name == "nt", reason="kill as on Unix")


def run_until(data_dir: Path, characters: int) -> list[tuple[float, int]]:
    """Run the program, kill it once it has shown so many characters; (seconds, characters shown) so far."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.answering_window", str(data_dir)],
        cwd=ROOT, env={**os.environ, "QT_QPA_PLATFORM": "offscreen"}, text=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    lines: list[tuple[float, int]] = []
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            seconds, shown = line.split()
            lines.append((float(seconds), int(shown)))
            if lines[-1][1] >= characters:
                break
        process.send_signal(signal.SIGKILL)
        lines += [
            (float(s), int(n)) for s, n in (line.split() for line in process.stdout if line.endswith("\n"))
        ]
    return lines


@pytest.mark.parametrize("characters", [1, 90, 211, 333])
def test_answer_is_there_and_marked_as_interrupted(tmp_path: Path, characters: int) -> None:
    lines = run_until(tmp_path, characters)
    store = HistoryStore(tmp_path / "conversations.sqlite3")
    (conversation,) = store.conversations()
    question, answer = store.messages(conversation.id)
    store.close()
    assert question.text == QUESTION
    assert answer.status == INTERRUPTED
    last_seconds = lines[-1][0]
    shown_a_second_before = max((n for seconds, n in lines if seconds <= last_seconds - 1.0), default=0)
    assert len(answer.text) >= shown_a_second_before
