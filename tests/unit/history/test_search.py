"""Search finds text as typed, in every script, from one character on."""

from __future__ import annotations

import pytest

from app.history.records import SearchHit
from app.history.store import HistoryStore
from tests.support.wall_clock import WallClock

TEXTS = [
    "The quick brown fox; 100% sure, snake_case",
    "機械学習の専門用語を説明してください。",
    "请解释深度学习模型。",
    "Straße und ÜBER, ÉTÉ",
    'say "hello" AND (not) NEAR* -x col:y',
    "1000 sure, snakeXcase",
]


@pytest.fixture
def filled(store: HistoryStore) -> HistoryStore:
    conversation = store.create_conversation("Reisepläne 東京")
    for text in TEXTS:
        store.add_user_message(conversation.id, text)
    return store


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("quick", [0]),
        ("QUICK BROWN", [0]),
        ("brown quick", [0]),
        ("quick sure", [0]),
        ("ick br", [0]),
        ("quick zebra", []),
        ("専門用語", [1]),
        ("専門", [1]),
        ("語", [1]),
        ("専門　機械学習", [1]),
        ("学習", [1]),
        ("学习", [2]),
        ("模", [2]),
        ("深度学习", [2]),
        ("über", [3]),
        ("üb", [3]),
        ("É", [3]),
        ("straße", [3]),
        ("0%", [0]),
        ("100%", [0]),
        ("_", [0]),
        ("e_c", [0]),
        ("%", [0]),
        ('"hello"', [4]),
        ('"', [4]),
        ("NEAR*", [4]),
        ("-x", [4]),
        ("col:y", [4]),
        ("AND", [4]),
        ("(not)", [4]),
        ("sure", [5, 0]),
        ("'", []),
        ("", []),
        ("  　 ", []),
        ("\0", []),
    ],
)
def test_messages_found(filled: HistoryStore, query: str, expected: list[int]) -> None:
    hits = [each for each in filled.search(query) if each.message_id is not None]
    assert [(each.message_id or 0) - 1 for each in hits] == expected


@pytest.mark.parametrize("query", ["東京", "京", "reise", "PLÄNE", "lä"])
def test_titles_found(filled: HistoryStore, query: str) -> None:
    assert [each.message_id for each in filled.search(query)] == [None]


def test_hit_shows_the_place(filled: HistoryStore) -> None:
    assert filled.search("専門") == [
        SearchHit(1, "Reisepläne 東京", 2, "user", "機械学習の専門用語を説明してください。", 5, 7)
    ]


def test_excerpt_is_one_line_around_a_far_place(store: HistoryStore) -> None:
    conversation = store.create_conversation()
    store.add_user_message(conversation.id, "a\n" * 500 + "needle" + "\nb" * 500)
    hit = store.search("needle")[0]
    assert hit.excerpt == "a " * 20 + "needle" + " b" * 47
    assert hit.excerpt[hit.match_start : hit.match_end] == "needle"


def test_place_is_unmarked_where_folding_changes_lengths(store: HistoryStore) -> None:
    conversation = store.create_conversation()
    store.add_user_message(conversation.id, "ßßßß needle")
    hit = store.search("needle")[0]
    assert (hit.excerpt, hit.match_start == hit.match_end) == ("ßßßß needle", True)


def test_changed_text_is_found_by_its_new_words_only(store: HistoryStore) -> None:
    conversation = store.create_conversation()
    answer = store.begin_answer(conversation.id, "m")
    store.save_answer_text(answer.id, "draft words")
    assert [each.message_id for each in store.search("draft")] == [answer.id]
    store.finish_answer(answer.id, "final sentence", "complete", {})
    assert store.search("draft") == []
    assert [each.message_id for each in store.search("final")] == [answer.id]
    assert [each.message_id for each in store.search("fi")] == [answer.id]


def test_newest_conversation_first_and_bounded(store: HistoryStore, wall_clock: WallClock) -> None:
    for number in range(3):
        wall_clock.seconds += 1
        conversation = store.create_conversation(f"talk {number}")
        store.add_user_message(conversation.id, "same words")
    assert [each.conversation_id for each in store.search("same words")] == [3, 2, 1]
    for _ in range(250):
        store.add_user_message(conversation.id, "same words")
    assert len(store.search("same words")) == 200


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("専門", [2]),
        ("語", [2]),
        ("习", [3]),
        ("学", [2, 3]),
        ("SURE", [1, 6]),
        ("quick sure", [1]),
        ("　", []),
    ],
)
def test_one_conversation_is_searched_in_reading_order(
    filled: HistoryStore, query: str, expected: list[int]
) -> None:
    other = filled.create_conversation("専門 語 sure")
    for text in TEXTS:
        filled.add_user_message(other.id, text)
    assert [each.message_id for each in filled.search(query, 1)] == expected
    in_other = [each.message_id for each in filled.search(query, other.id)]
    assert in_other == [number + len(TEXTS) for number in expected]


def test_versions_that_are_not_shown_are_found_and_deleted_ones_are_not(filled: HistoryStore) -> None:
    filled.add_user_message(1, "edited away", parent_id=5)
    assert [each.message_id for each in filled.search("snakeX")] == [6]
    assert [each.message_id for each in filled.search("snakeX", 1)] == [6]
    filled.choose_version(6)
    assert filled.messages(1)[-1].id == 6
    filled.delete_message(6)
    assert filled.search("snakeX") == []
    assert [each.message_id for each in filled.search("sn", 1)] == [1]


def test_one_conversation_finds_a_streaming_answer(filled: HistoryStore) -> None:
    answer = filled.begin_answer(1, "m")
    filled.save_answer_text(answer.id, "being written")
    assert [each.message_id for each in filled.search("being", 1)] == [answer.id]
    assert filled.search("being", 99) == []
