"""The process is killed in mid-answer: the question is there, and all but the last second of the answer."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.history.errors import HistoryBusyError
from app.history.store import HistoryStore
from tests.support.answering_process import QUESTION, word

ROOT = Path(__file__).parents[3]
MOST_LOST_SECONDS = 1.0


@contextmanager
def answering_process(path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.support.answering_process", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "asked\n"
            yield process
        finally:
            process.kill()


def kill_after(process: subprocess.Popen[str], moment_seconds: float) -> list[tuple[float, int]]:
    """All appends (seconds, characters so far) the process reported before it died."""
    assert process.stdout is not None
    appends: list[tuple[float, int]] = []
    for line in process.stdout:
        seconds, characters = line.split()
        appends.append((float(seconds), int(characters)))
        if float(seconds) >= moment_seconds:
            process.kill()
    return appends


def lost_seconds(appends: list[tuple[float, int]], kept_characters: int) -> float:
    """From the first append that is lost to the last one."""
    lost = [seconds for seconds, characters in appends if characters > kept_characters]
    return appends[-1][0] - lost[0] if lost else 0.0


@pytest.mark.parametrize("earliest_seconds", [0.0, 0.4, 0.9, 1.4, 2.0])
def test_killed_in_mid_answer(
    open_store: Callable[[], HistoryStore], path: Path, earliest_seconds: float
) -> None:
    moment_seconds = earliest_seconds + random.uniform(0, 0.5)
    with answering_process(path) as process:
        appends = kill_after(process, moment_seconds)
    store = open_store()
    assert store.opening_note == ""
    (conversation,) = store.conversations()
    question, answer = store.messages(conversation.id)
    assert (conversation.title, question.text, question.status) == ("long talk", QUESTION, "complete")
    assert (answer.status, answer.model_name) == ("interrupted", "tiny-moe")
    assert answer.text
    assert "".join(word(number) for number in range(len(appends) + 1)).startswith(answer.text)
    assert lost_seconds(appends, len(answer.text)) <= MOST_LOST_SECONDS


def test_killed_right_after_the_question(open_store: Callable[[], HistoryStore], path: Path) -> None:
    with answering_process(path) as process:
        process.kill()
    store = open_store()
    assert store.messages(store.conversations()[0].id)[0].text == QUESTION


def test_living_process_keeps_others_out(open_store: Callable[[], HistoryStore], path: Path) -> None:
    with answering_process(path) as process, pytest.raises(HistoryBusyError) as raised:
        open_store()
    assert f"(process {process.pid})" in raised.value.fault
    assert open_store().search("Tell me")


def test_lost_time_is_measured_from_the_first_lost_append() -> None:
    appends = [(0.0, 5), (1.0, 10), (2.5, 15)]
    assert [lost_seconds(appends, kept) for kept in (0, 5, 10, 15)] == [2.5, 1.5, 0.0, 0.0]
