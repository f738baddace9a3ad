"""Editing, answering again and deleting keep what was there, within reach."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.history.errors import HistoryMissingError
from app.history.records import Attachment, Message
from app.history.store import HistoryStore
from tests.support.wall_clock import WallClock

OpenStore = Callable[[], HistoryStore]
DAY_SECONDS = 24 * 3600


def say(store: HistoryStore, text: str, **options: int | None) -> Message:
    return store.add_user_message(1, text, **options)  # type: ignore[arg-type]  # parent_id only


def answer(store: HistoryStore, text: str, **options: int | None) -> Message:
    begun = store.begin_answer(1, "m", **options)  # type: ignore[arg-type]  # parent_id only
    store.finish_answer(begun.id, text, "complete", {})
    return begun


def shown(store: HistoryStore) -> list[str]:
    return [each.text for each in store.messages(1)]


@pytest.fixture
def talk(store: HistoryStore) -> HistoryStore:
    """1 “question” - 2 “answer” - 3 “more” - 4 “end”."""
    store.create_conversation()
    say(store, "question")
    answer(store, "answer")
    say(store, "more")
    answer(store, "end")
    return store


def test_another_answer_is_a_version_beside_the_first(talk: HistoryStore) -> None:
    again = answer(talk, "better", parent_id=1)
    assert shown(talk) == ["question", "better"]
    assert (again.parent_id, again.sibling_ids) == (1, (2, 5))
    assert [each.sibling_ids for each in talk.messages(1)] == [(1,), (2, 5)]
    assert talk.conversations()[0].leaf_id == 5


def test_an_edited_message_begins_a_branch(talk: HistoryStore) -> None:
    say(talk, "other question", parent_id=None)
    assert shown(talk) == ["other question"]
    assert talk.messages(1)[0].sibling_ids == (1, 5)
    assert answer(talk, "other answer").parent_id == 5
    assert shown(talk) == ["other question", "other answer"]
    talk.choose_version(1)
    assert shown(talk) == ["question", "answer", "more", "end"]


def test_a_version_comes_with_its_newest_branch(talk: HistoryStore) -> None:
    say(talk, "edited more", parent_id=2)
    answer(talk, "better", parent_id=1)
    talk.choose_version(2)
    assert shown(talk) == ["question", "answer", "edited more"]
    talk.choose_version(4)
    assert shown(talk) == ["question", "answer", "more", "end"]


def test_choosing_what_is_shown_changes_nothing(talk: HistoryStore) -> None:
    say(talk, "edited more", parent_id=2)
    talk.choose_version(3)
    talk.choose_version(2)
    assert shown(talk) == ["question", "answer", "more", "end"]


def test_branches_survive_a_restart(talk: HistoryStore, open_store: OpenStore) -> None:
    answer(talk, "better", parent_id=1)
    talk.choose_version(2)
    talk.close()
    store = open_store()
    assert shown(store) == ["question", "answer", "more", "end"]
    store.choose_version(5)
    assert shown(store) == ["question", "better"]


def test_a_parent_elsewhere_is_refused_and_nothing_is_added(talk: HistoryStore) -> None:
    other = talk.create_conversation()
    for parent_id in (1, 99):
        with pytest.raises(HistoryMissingError):
            talk.add_user_message(other.id, "lost", parent_id=parent_id)
    assert talk.messages(other.id) == []
    assert talk.search("lost") == []


# --- deleting -------------------------------------------------------------------------------


def test_deleted_message_takes_along_what_hangs_below(talk: HistoryStore) -> None:
    talk.delete_message(2)
    assert shown(talk) == ["question"]
    assert talk.search("end") == []
    assert say(talk, "next").parent_id == 1
    with pytest.raises(HistoryMissingError):
        talk.begin_answer(1, "m", parent_id=3)


def test_another_version_is_shown_in_its_place(talk: HistoryStore) -> None:
    answer(talk, "better", parent_id=1)
    talk.delete_message(5)
    assert shown(talk) == ["question", "answer", "more", "end"]
    assert talk.messages(1)[1].sibling_ids == (2,)


def test_deleting_the_first_message_empties_the_conversation(talk: HistoryStore) -> None:
    talk.delete_message(1)
    assert (shown(talk), talk.conversations()[0].leaf_id) == ([], None)
    assert say(talk, "fresh").parent_id is None


def test_undo_brings_back_the_branch_that_was_shown(talk: HistoryStore) -> None:
    say(talk, "edited more", parent_id=2)
    talk.choose_version(4)
    talk.delete_message(2)
    talk.restore_message(2)
    assert shown(talk) == ["question", "answer", "more", "end"]
    assert talk.messages(1)[2].sibling_ids == (3, 5)
    assert [each.message_id for each in talk.search("end")] == [4]


def test_undo_leaves_deleted_what_was_deleted_before(talk: HistoryStore) -> None:
    talk.delete_message(4)
    talk.delete_message(2)
    talk.restore_message(2)
    assert shown(talk) == ["question", "answer", "more"]
    talk.restore_message(4)
    assert shown(talk) == ["question", "answer", "more", "end"]


def test_undo_out_of_order_names_what_comes_first(talk: HistoryStore) -> None:
    talk.delete_message(4)
    talk.delete_message(2)
    with pytest.raises(HistoryMissingError, match="Bring that one back first"):
        talk.restore_message(4)
    with pytest.raises(HistoryMissingError, match="isn’t deleted"):
        talk.restore_message(1)
    assert shown(talk) == ["question"]


def test_deleting_a_hidden_version_leaves_the_shown_branch(talk: HistoryStore) -> None:
    answer(talk, "better", parent_id=1)
    talk.delete_message(3)
    assert shown(talk) == ["question", "better"]
    talk.choose_version(2)
    assert shown(talk) == ["question", "answer"]


def test_undo_of_a_hidden_version_leaves_the_branch_that_grew_since(talk: HistoryStore) -> None:
    answer(talk, "better", parent_id=1)
    talk.delete_message(2)
    say(talk, "more since")
    talk.restore_message(2)
    assert shown(talk) == ["question", "better", "more since"]
    assert talk.messages(1)[1].sibling_ids == (2, 5)


def test_undo_of_a_hidden_version_never_shows_what_is_deleted(talk: HistoryStore) -> None:
    answer(talk, "better", parent_id=1)
    talk.delete_message(3)
    talk.delete_message(5)
    talk.restore_message(3)
    assert shown(talk) == ["question", "answer"]
    assert say(talk, "next").parent_id == 2


def test_a_deleted_answer_is_written_on_where_it_is_hidden(talk: HistoryStore) -> None:
    begun = talk.begin_answer(1, "m", parent_id=3)
    talk.delete_message(begun.id)
    talk.finish_answer(begun.id, "late words", "complete", {})
    assert shown(talk)[-1] == "end"
    talk.restore_message(begun.id)
    assert shown(talk)[-1] == "late words"


@pytest.mark.parametrize(("days", "left"), [(29, 4), (31, 1)])
def test_deleted_messages_are_purged_after_a_month(
    talk: HistoryStore, open_store: OpenStore, wall_clock: WallClock, days: int, left: int
) -> None:
    talk.delete_message(2)
    talk.close()
    wall_clock.seconds += days * DAY_SECONDS
    store = open_store()
    rows = store._database.connection.execute("SELECT count(*) FROM messages").fetchone()
    assert rows == (left,)
    assert shown(store) == ["question"]


def test_a_branch_of_thousands_is_deleted_and_purged(open_store: OpenStore, wall_clock: WallClock) -> None:
    store = open_store()
    store.create_conversation()
    with store._database.transaction() as connection:
        connection.executemany(
            "INSERT INTO messages (conversation_id, role, text, status, created_at, parent_id) "
            "VALUES (1, 'user', 'x', 'complete', 0, ?)",
            [(None,), *((number,) for number in range(1, 3000))],
        )
    store.choose_version(3000)
    assert len(store.messages(1)) == 3000
    store.delete_message(2)
    assert len(store.messages(1)) == 1
    store.close()
    wall_clock.seconds += 31 * DAY_SECONDS
    store = open_store()
    store.delete(1)
    store.close()
    wall_clock.seconds += 31 * DAY_SECONDS
    rows = open_store()._database.connection.execute("SELECT count(*) FROM messages").fetchone()
    assert rows == (0,)


# --- continuing, files -----------------------------------------------------------------------


def test_a_resumed_answer_streams_on_from_its_text(talk: HistoryStore) -> None:
    begun = talk.begin_answer(1, "m", parent_id=3)
    talk.finish_answer(begun.id, "half", "stopped", {"tokens": 1})
    assert talk.messages(1)[-1].is_partial
    resumed = talk.resume_answer(begun.id)
    assert (resumed.status, resumed.text, resumed.sibling_ids) == ("streaming", "half", (4, 5))
    assert not resumed.is_partial
    with pytest.raises(HistoryMissingError):
        talk.resume_answer(begun.id)
    talk.finish_answer(begun.id, "half and half", "complete", {})
    assert shown(talk)[-1] == "half and half"
    assert [each.message_id for each in talk.search("and half")] == [5]


def test_only_answers_can_be_resumed(talk: HistoryStore) -> None:
    with pytest.raises(HistoryMissingError):
        talk.resume_answer(1)


@pytest.mark.parametrize(
    ("text", "status", "stats", "is_partial"),
    [
        ("half", "interrupted", {}, True),
        ("half", "failed", {}, True),
        ("", "stopped", {}, False),
        ("whole", "complete", {"reason": "end_of_text"}, False),
        ("half", "complete", {"reason": "max_tokens"}, True),
        ("half", "complete", {"reason": "context_full"}, True),
    ],
)
def test_what_can_be_continued(
    talk: HistoryStore, text: str, status: str, stats: dict[str, object], is_partial: bool
) -> None:
    begun = talk.begin_answer(1, "m")
    talk.finish_answer(begun.id, text, status, stats)
    assert talk.messages(1)[-1].is_partial is is_partial


def test_attachments_come_back_with_their_message(talk: HistoryStore) -> None:
    files = (Attachment("メモ.txt", "a\r\nb\0"), Attachment("cut \ud83d.md", ""))
    added = talk.add_user_message(1, "read this", files)
    kept = (files[0], Attachment("cut ?.md", ""))
    assert added.attachments == talk.messages(1)[-1].attachments == kept
    assert talk.messages(1)[0].attachments == ()


def test_damaged_leaf_and_files_cost_no_message(talk: HistoryStore) -> None:
    connection = talk._database.connection
    connection.execute("UPDATE conversations SET leaf_id = 77")
    connection.execute("UPDATE messages SET attachments = '[{', stats = '[]'")
    assert shown(talk) == ["question", "answer", "more", "end"]
    assert [(each.attachments, each.stats) for each in talk.messages(1)] == [((), None)] * 4
    assert say(talk, "goes on").parent_id == 4
