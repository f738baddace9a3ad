"""Conversations and messages as the window uses them."""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from app.history.errors import HistoryBusyError, HistoryDiskFullError, HistoryError, HistoryMissingError
from app.history.records import Conversation
from app.history.store import HistoryStore
from tests.support.wall_clock import WallClock

OpenStore = Callable[[], HistoryStore]
DAY_SECONDS = 24 * 3600


def titles(store: HistoryStore) -> list[str]:
    return [each.title for each in store.conversations()]


def test_conversations_come_newest_message_first(store: HistoryStore, wall_clock: WallClock) -> None:
    first = store.create_conversation("first")
    wall_clock.seconds += 1
    store.create_conversation("second")
    wall_clock.seconds += 1
    store.add_user_message(first.id, "hello")
    assert store.conversations() == [
        Conversation(1, "first", 1_800_000_000.0, 1_800_000_002.0, "", leaf_id=1),
        Conversation(2, "second", 1_800_000_001.0, 1_800_000_001.0, ""),
    ]


def test_renaming_does_not_reorder(store: HistoryStore, wall_clock: WallClock) -> None:
    old = store.create_conversation("old")
    wall_clock.seconds += 1
    store.create_conversation("new")
    wall_clock.seconds += 1
    store.rename(old.id, "専門用語　é 😀")
    assert titles(store) == ["new", "専門用語　é 😀"]


def test_deleted_conversation_comes_back_whole(store: HistoryStore) -> None:
    conversation = store.create_conversation("kept")
    store.add_user_message(conversation.id, "question")
    store.delete(conversation.id)
    assert titles(store) == []
    assert store.search("question") == []
    store.restore(conversation.id)
    assert titles(store) == ["kept"]
    assert [each.text for each in store.messages(conversation.id)] == ["question"]
    assert [each.excerpt for each in store.search("question")] == ["question"]


@pytest.mark.parametrize(("days", "is_left"), [(29, True), (31, False)])
def test_deleted_conversations_are_purged_after_a_month(
    open_store: OpenStore, path: Path, wall_clock: WallClock, days: int, is_left: bool
) -> None:
    store = open_store()
    conversation = store.create_conversation("gone")
    store.add_user_message(conversation.id, "secret")
    store.delete(conversation.id)
    store.close()
    wall_clock.seconds += days * DAY_SECONDS
    open_store().close()
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("SELECT count(*) FROM messages").fetchone()[0] == is_left
        found = raw.execute("SELECT count(*) FROM message_index WHERE message_index MATCH 'secret'")
        assert found.fetchone()[0] == is_left


def test_an_answer_from_begin_to_end(store: HistoryStore, wall_clock: WallClock) -> None:
    conversation = store.create_conversation()
    question = store.add_user_message(conversation.id, "Why?")
    answer = store.begin_answer(conversation.id, "tiny-moe")
    assert (question.role, question.status) == ("user", "complete")
    assert (answer.role, answer.status, answer.text) == ("assistant", "streaming", "")
    store.save_answer_text(answer.id, "Because")
    assert store.messages(conversation.id)[1].text == "Because"
    store.finish_answer(answer.id, "Because so.", "complete", {"tokens": 3, "ttft_ns": {"prefill": 12}})
    ended = store.messages(conversation.id)[1]
    assert (ended.text, ended.status, ended.model_name) == ("Because so.", "complete", "tiny-moe")
    assert ended.stats == {"tokens": 3, "ttft_ns": {"prefill": 12}}
    assert store.conversations()[0].model_name == "tiny-moe"
    assert pickle.loads(pickle.dumps(ended)) == ended


def test_an_ended_answer_is_not_overwritten(store: HistoryStore) -> None:
    conversation = store.create_conversation()
    answer = store.begin_answer(conversation.id, "m")
    store.finish_answer(answer.id, "whole", "stopped", {})
    with pytest.raises(HistoryMissingError):
        store.save_answer_text(answer.id, "late")
    with pytest.raises(HistoryMissingError):
        store.finish_answer(answer.id, "late", "complete", {})
    assert [(each.text, each.status) for each in store.messages(conversation.id)] == [("whole", "stopped")]


def test_unknown_status_is_refused(store: HistoryStore) -> None:
    answer = store.begin_answer(store.create_conversation().id, "m")
    with pytest.raises(ValueError, match="streaming"):
        store.finish_answer(answer.id, "", "streaming", {})


def test_unknown_conversation_is_named(store: HistoryStore) -> None:
    for action in (
        lambda: store.add_user_message(7, "x"),
        lambda: store.begin_answer(7, "m"),
        lambda: store.rename(7, "x"),
        lambda: store.delete(7),
    ):
        with pytest.raises(HistoryMissingError) as raised:
            action()
        assert raised.value.fault == "This conversation no longer exists."
        assert raised.value.next_step
    assert store.messages(7) == []


def test_texts_come_back_as_written(store: HistoryStore) -> None:
    conversation = store.create_conversation()
    texts = ["日本語\r\n\ttab", "a\0b", "👩‍👩‍👧 e\u0301", "", "x" * 300_000]
    for text in texts:
        store.add_user_message(conversation.id, text)
    store.add_user_message(conversation.id, "cut \ud83d emoji")
    assert [each.text for each in store.messages(conversation.id)] == [*texts, "cut ? emoji"]


def test_streaming_answers_become_interrupted_and_keep_their_text(open_store: OpenStore) -> None:
    store = open_store()
    conversation = store.create_conversation()
    answer = store.begin_answer(conversation.id, "m")
    store.save_answer_text(answer.id, "half an ans")
    store.close()
    store = open_store()
    kept = store.messages(conversation.id)[0]
    assert (kept.text, kept.status) == ("half an ans", "interrupted")
    assert [each.message_id for each in store.search("half")] == [answer.id]


def test_second_store_is_refused_and_leaves_the_answer_streaming(open_store: OpenStore) -> None:
    store = open_store()
    conversation = store.create_conversation()
    store.begin_answer(conversation.id, "m")
    with pytest.raises(HistoryBusyError) as raised:
        open_store()
    assert "already open in another Emberglass window" in raised.value.fault
    assert "close it" in raised.value.next_step
    assert store.messages(conversation.id)[0].status == "streaming"
    store.close()
    assert open_store().messages(conversation.id)[0].status == "interrupted"


def test_unicode_path(tmp_path: Path) -> None:
    path = tmp_path / "田中　é 😀 #?%41" / "会話.db"
    with closing(HistoryStore(path)) as store:
        conversation = store.create_conversation("x")
    with closing(HistoryStore(path)) as store:
        assert store.opening_note == ""
        assert [each.id for each in store.conversations()] == [conversation.id]
    assert path.exists()


def test_full_disk_is_named_and_loses_nothing_saved(store: HistoryStore) -> None:
    conversation = store.create_conversation()
    store.add_user_message(conversation.id, "saved")
    connection = store._database.connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(HistoryDiskFullError) as raised:
        store.add_user_message(conversation.id, "too long " * 10_000)
    assert "no room left" in raised.value.fault
    assert str(store._database.path) in raised.value.next_step
    connection.execute("PRAGMA max_page_count = 1000000")
    store.add_user_message(conversation.id, "after")
    assert [each.text for each in store.messages(conversation.id)] == ["saved", "after"]


def test_file_locked_by_another_program_is_named(store: HistoryStore, path: Path) -> None:
    conversation = store.create_conversation()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(HistoryBusyError, match="Another program has locked"):
            store.add_user_message(conversation.id, "waits")
    assert store.add_user_message(conversation.id, "goes through").id == 1


def test_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("not a folder")
    with pytest.raises(HistoryError, match="folder exists"):
        HistoryStore(tmp_path / "data" / "history.db")
    with pytest.raises(HistoryError, match="read or written"):
        HistoryStore(tmp_path)


def test_errors_survive_pickling() -> None:
    error = pickle.loads(pickle.dumps(HistoryBusyError("fault", "step", "detail")))
    assert (error.fault, error.next_step, error.detail) == ("fault", "step", "detail")
    assert str(error) == "fault step"


def test_user_message_and_begin_answer_flush_the_disk(store: HistoryStore, path: Path) -> None:
    """FULL makes SQLite sync the log at commit; the other writes stay at NORMAL."""
    conversation = store.create_conversation()
    statements: list[str] = []
    store._database.connection.set_trace_callback(statements.append)
    store.add_user_message(conversation.id, "x")
    answer = store.begin_answer(conversation.id, "m")
    store.save_answer_text(answer.id, "y")
    levels = [each for each in statements if "synchronous" in each or each == "COMMIT"]
    assert levels == [
        *["PRAGMA synchronous = FULL", "COMMIT"] * 2,
        *["PRAGMA synchronous = NORMAL", "COMMIT"],
    ]
