from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.generation.stop_strings import StopMatcher

PIECES = st.lists(st.text("ab\n", max_size=4), max_size=12)


def _run(stops: list[str], pieces: list[str]) -> tuple[str, bool]:
    matcher = StopMatcher(stops)
    shown = ""
    for piece in pieces:
        safe, is_stopped = matcher.feed(piece)
        shown += safe
        if is_stopped:
            return shown, True
    return shown + matcher.flush(), False


def test_suffix_that_may_begin_a_stop_is_held_and_released() -> None:
    matcher = StopMatcher(["\nUser:"])
    assert matcher.feed("Hello\nUs") == ("Hello", False)
    assert matcher.feed("e") == ("", False)
    assert matcher.feed("d it") == ("\nUsed it", False)


def test_stop_over_three_pieces_is_never_shown() -> None:
    matcher = StopMatcher(["<end>"])
    assert [matcher.feed(piece) for piece in ("a<", "en", "d>b")] == [("a", False), ("", False), ("", True)]
    assert matcher.flush() == ""
    assert matcher.feed("more") == ("", True)


def test_held_back_text_keeps_only_the_longest_possible_beginning() -> None:
    assert StopMatcher(["aab"]).feed("aaaa") == ("aa", False)


def test_first_complete_stop_wins_in_one_piece_as_in_many() -> None:
    assert _run(["abcd", "bc"], ["xabcd"]) == _run(["abcd", "bc"], list("xabcd")) == ("xa", True)


def test_longest_of_stops_that_end_together_wins() -> None:
    assert _run(["c", "bc"], ["abc"]) == ("a", True)


def test_no_stops_and_empty_stops_hold_nothing_back() -> None:
    assert StopMatcher([]).feed("abc") == ("abc", False)
    assert StopMatcher([""]).feed("abc") == ("abc", False)


@given(st.text("ab\n", min_size=1, max_size=4), PIECES)
def test_one_stop_cuts_like_split(stop: str, pieces: list[str]) -> None:
    full = "".join(pieces)
    assert _run([stop], pieces) == (full.split(stop)[0], stop in full)


@given(st.lists(st.text("ab\n", min_size=1, max_size=4), max_size=3), PIECES)
def test_several_stops_cut_where_the_first_one_is_complete(stops: list[str], pieces: list[str]) -> None:
    full = "".join(pieces)
    for end in range(1, len(full) + 1):
        complete = [stop for stop in stops if full[:end].endswith(stop)]
        if complete:
            assert _run(stops, pieces) == (full[: end - max(map(len, complete))], True)
            return
    assert _run(stops, pieces) == (full, False)


@given(st.text("ab\n", min_size=1, max_size=4), PIECES)
def test_held_back_text_is_always_a_beginning_of_the_stop(stop: str, pieces: list[str]) -> None:
    matcher = StopMatcher([stop])
    fed = shown = ""
    for piece in pieces:
        safe, is_stopped = matcher.feed(piece)
        if is_stopped:
            return
        fed, shown = fed + piece, shown + safe
        held = fed[len(shown) :]
        assert fed.startswith(shown)
        assert len(held) < len(stop)
        assert stop.startswith(held)
