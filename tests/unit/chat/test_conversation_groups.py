"""Pinned on top, then folders by name, then the rest; rows near the match."""

from __future__ import annotations

from app.chat.conversation_groups import GroupKind, grouped
from app.chat.row_words import conversation_words, hit_words
from app.history.records import Conversation, SearchHit


def conversation(number: int, folder: str = "", is_pinned: bool = False) -> Conversation:
    return Conversation(number, f"title {number}", 0, 0, "", is_pinned, folder)


def test_groups_come_in_order_and_keep_the_order_inside() -> None:
    found = grouped([
        conversation(1), conversation(2, "work"), conversation(3, is_pinned=True), conversation(4, "Art"),
        conversation(5, "work"), conversation(6), conversation(7, "Art", is_pinned=True),
    ])  # fmt: skip
    assert [(group.title, [each.id for each in group.conversations]) for group in found] == [
        ("Pinned", [3, 7]), ("Art", [4]), ("work", [2, 5]), ("Other conversations", [1, 6]),
    ]  # fmt: skip
    assert [group.folder for group in found] == ["", "Art", "work", ""]


def test_a_plain_list_has_no_headings() -> None:
    (only,) = grouped([conversation(1), conversation(2)])
    assert (only.kind, only.title) == (GroupKind.OTHERS, "")
    assert grouped([]) == []


def test_a_row_says_that_an_answer_is_made() -> None:
    words = conversation_words(Conversation(1, "two\nlines", 0, 0, ""), is_busy=True)
    assert (words.text, words.said) == ("● two lines", "two lines, answering")
    assert conversation_words(Conversation(1, "", 0, 0, ""), is_busy=False).text == "Untitled"


def marked(hit: SearchHit) -> tuple[tuple[str, ...], str]:
    words = hit_words(hit)
    return words.lines, words.lines[words.marked_line][words.mark_start : words.mark_end]


def test_the_match_is_marked_and_near_the_start_of_its_line() -> None:
    text = "a long way before the word that was looked for: needle, and after it"
    start = text.index("needle")
    lines, mark = marked(SearchHit(1, "Title", 5, "user", text, start, start + 6))
    assert mark == "needle"
    assert lines[0] == "Title"
    assert lines[1].startswith("…")
    assert lines[1].index("needle") <= 15


def test_japanese_text_has_no_blanks_to_cut_at() -> None:
    text = "これは長い文章の途中にある専門という言葉です"
    start = text.index("専門")
    lines, mark = marked(SearchHit(1, "題", 5, "user", text, start, start + 2))
    assert mark == "専門"
    assert lines[1].index("専門") == 13


def test_a_found_title_is_marked_itself() -> None:
    assert marked(SearchHit(1, "About needles", None, "", "About needles", 6, 12)) == (
        ("About needles",),
        "needle",
    )
