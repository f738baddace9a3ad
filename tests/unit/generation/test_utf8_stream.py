from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.generation.utf8_stream import Utf8Stream

FAMILY = "👨‍👩‍👧"  # three emoji joined by two ZWJ


def _feed_bytes(data: bytes) -> list[str]:
    stream = Utf8Stream()
    return [stream.feed(bytes([byte])) for byte in data]


def test_japanese_appears_with_its_third_byte() -> None:
    assert _feed_bytes("日本".encode()) == ["", "", "日", "", "", "本"]


def test_joined_emoji_arrive_code_point_by_code_point() -> None:
    pieces = _feed_bytes(FAMILY.encode())
    assert [piece for piece in pieces if piece] == ["👨", "\u200d", "👩", "\u200d", "👧"]


@pytest.mark.parametrize("data", [b"\xff", b"\x80", b"\xc0", b"\xf5"])
def test_invalid_byte_is_replaced_at_once(data: bytes) -> None:
    assert Utf8Stream().feed(data) == "\ufffd"


def test_interrupted_character_is_replaced_before_what_follows() -> None:
    assert _feed_bytes(b"\xe3\x81A") == ["", "", "\ufffdA"]


def test_flush_replaces_an_unfinished_character_once() -> None:
    stream = Utf8Stream()
    assert stream.feed("é".encode()[:1]) == ""
    assert (stream.flush(), stream.flush()) == ("\ufffd", "")


@given(st.lists(st.binary(max_size=6)))
def test_any_split_gives_what_decoding_the_whole_gives(pieces: list[bytes]) -> None:
    stream = Utf8Stream()
    text = "".join(map(stream.feed, pieces)) + stream.flush()
    assert text == b"".join(pieces).decode("utf-8", "replace")
