"""When an answer is saved, and that no text is lost when it can't be."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from app.history.answer_writer import AnswerWriter
from app.history.errors import HistoryBusyError, HistoryDiskFullError
from app.history.records import Message
from app.history.store import HistoryStore
from tests.support.wall_clock import WallClock


@pytest.fixture
def clock() -> WallClock:
    return WallClock()


@pytest.fixture
def answer(store: HistoryStore) -> Message:
    return store.begin_answer(store.create_conversation().id, "m")


@pytest.fixture
def saved(store: HistoryStore, answer: Message) -> Callable[[], str]:
    return lambda: store.messages(answer.conversation_id)[0].text


@pytest.fixture
def writer(store: HistoryStore, answer: Message, clock: WallClock) -> AnswerWriter:
    return AnswerWriter(store, answer.id, clock)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


def test_first_words_at_once_then_every_half_second(
    writer: AnswerWriter, clock: WallClock, saved: Callable[[], str]
) -> None:
    writer.append("a")
    assert saved() == "a"
    clock.seconds += 0.49
    writer.append("b")
    assert (saved(), writer.is_saved, writer.text) == ("a", False, "ab")
    clock.seconds += 0.01
    writer.append("c")
    assert (saved(), writer.is_saved) == ("abc", True)


def test_last_words_before_a_pause_are_saved_by_the_timer(
    writer: AnswerWriter, clock: WallClock, saved: Callable[[], str]
) -> None:
    writer.append("a")
    writer.append("b")
    writer.flush_if_due()
    assert saved() == "a"
    clock.seconds += 0.5
    writer.flush_if_due()
    assert saved() == "ab"


def test_no_write_without_new_text(writer: AnswerWriter, store: HistoryStore, clock: WallClock) -> None:
    writer.append("a")
    before = store._database.connection.total_changes
    for _ in range(5):
        clock.seconds += 1
        writer.flush_if_due()
    assert store._database.connection.total_changes == before


def test_commits_stay_few_however_fast_text_arrives(
    writer: AnswerWriter, store: HistoryStore, clock: WallClock, saved: Callable[[], str]
) -> None:
    statements: list[str] = []
    store._database.connection.set_trace_callback(statements.append)
    for _ in range(1000):
        clock.seconds += 0.01
        writer.append("x")
    store._database.connection.set_trace_callback(None)
    assert 19 <= statements.count("COMMIT") <= 21
    assert len(saved()) >= 950


def test_finish_saves_text_status_and_stats(
    writer: AnswerWriter, store: HistoryStore, answer: Message
) -> None:
    writer.append("a")
    writer.append("b")
    writer.finish("stopped", {"tokens": 2})
    message = store.messages(answer.conversation_id)[0]
    assert (message.text, message.status, message.stats) == ("ab", "stopped", {"tokens": 2})
    assert writer.is_saved
    with pytest.raises(ValueError, match="has ended"):
        writer.append("c")


def test_an_answer_without_a_word_can_fail(
    writer: AnswerWriter, store: HistoryStore, answer: Message
) -> None:
    writer.finish("failed")
    message = store.messages(answer.conversation_id)[0]
    assert (message.text, message.status, message.stats) == ("", "failed", None)


def test_unknown_status_leaves_the_answer_open(writer: AnswerWriter, saved: Callable[[], str]) -> None:
    with pytest.raises(ValueError, match="done"):
        writer.finish("done")
    writer.append("a")
    assert saved() == "a"


def test_locked_file_delays_saving_and_loses_nothing(
    writer: AnswerWriter, path: Path, clock: WallClock, saved: Callable[[], str]
) -> None:
    with locked(path):
        writer.append("a")
        assert isinstance(writer.save_error, HistoryBusyError)
        writer.append("b")
    clock.seconds += 0.5
    writer.append("c")
    assert (saved(), writer.save_error, writer.is_saved) == ("abc", None, True)


def test_failed_ending_is_told_and_tried_again(
    writer: AnswerWriter, store: HistoryStore, answer: Message, path: Path, clock: WallClock
) -> None:
    writer.append("text")
    with locked(path), pytest.raises(HistoryBusyError):
        writer.finish("complete", {"tokens": 1})
    assert (writer.is_saved, store.messages(answer.conversation_id)[0].status) == (False, "streaming")
    clock.seconds += 0.5
    writer.flush_if_due()
    message = store.messages(answer.conversation_id)[0]
    assert (message.text, message.status, message.stats) == ("text", "complete", {"tokens": 1})


def test_full_disk_keeps_the_text_until_there_is_room(
    writer: AnswerWriter, store: HistoryStore, clock: WallClock, saved: Callable[[], str]
) -> None:
    pages = store._database.connection.execute("PRAGMA page_count").fetchone()[0]
    store._database.connection.execute(f"PRAGMA max_page_count = {pages}")
    long = "long " * 20_000
    writer.append(long)
    assert isinstance(writer.save_error, HistoryDiskFullError)
    store._database.connection.execute("PRAGMA max_page_count = 1000000")
    clock.seconds += 0.5
    writer.flush_if_due()
    assert (saved() == long, writer.save_error) == (True, None)
