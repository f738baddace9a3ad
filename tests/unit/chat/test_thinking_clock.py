"""The clock runs while an answer thinks, and only then."""

from __future__ import annotations

import pytest

from app.chat.thinking_clock import ThinkingClock


@pytest.mark.parametrize(
    ("pieces", "seconds"),
    [
        ([(1, "Just an answer"), (5, " that goes on")], 0),
        ([(1, "<think>"), (2, "a"), (4, "b"), (9, "</think>"), (12, "answer")], 8),
        ([(1, "<th"), (2, "ink>a"), (4, "b</th"), (5, "ink>"), (9, "answer")], 3),
        ([(1, "a"), (3, "b"), (6, "</think>"), (8, "answer")], 5),
        ([(1, "<think>a"), (4, "b")], 3),
        ([(1, "<think>a"), (3, "</think>x\n"), (7, "<think>b"), (8, "</think>y"), (9, "z")], 3),
    ],
)
def test_seconds(pieces: list[tuple[int, str]], seconds: int) -> None:
    clock = ThinkingClock()
    for at_seconds, piece in pieces:
        clock.hear(piece, at_seconds * 1_000_000_000)
    assert clock.seconds == seconds
