"""Each count reaches whoever asked for it, once."""

from __future__ import annotations

from collections.abc import Sequence

from app.chat.fit_check import check_fit
from app.chat.prompt_fit import Fit
from app.chat.token_counter import TokenCounter
from engine.config import ChatMessage
from engine.errors import ErrorInfo
from engine.events import RequestFailed, TokensCounted

FAILED = ErrorInfo("StateError", "No model.", "Load one.", "", 1)


class CountingFake:
    """Notes what is to be counted; the request id is its place, from 1."""

    def __init__(self) -> None:
        self.asked: list[tuple[ChatMessage, ...]] = []

    def count_tokens(self, messages: Sequence[ChatMessage]) -> int:
        self.asked.append(tuple(messages))
        return len(self.asked)


def counted(request_id: int, tokens: int) -> TokensCounted:
    return TokensCounted(request_id=request_id, tokens=tokens, context_tokens=1000)


def test_outcomes_go_to_who_asked_and_others_are_ignored() -> None:
    counter = TokenCounter(CountingFake())
    seen: list[tuple[str, int | None]] = []
    for name in ("a", "b"):
        counter.count([], lambda event, name=name: seen.append((name, event and event.tokens)))
    counter.apply([counted(2, 20), counted(9, 90), RequestFailed(request_id=1, error=FAILED), counted(2, 21)])
    assert seen == [("b", 20), ("a", None)]


def test_a_long_prompt_is_counted_until_it_fits() -> None:
    engine = CountingFake()
    counter = TokenCounter(engine)
    fits: list[Fit | None] = []
    messages = [ChatMessage(("user", "assistant")[n % 2], "x" * 500) for n in range(5)]
    check_fit(messages, 1000, counter, fits.append)
    while not fits:
        number = len(engine.asked)
        counter.apply([counted(number, 300 * len(engine.asked[-1]))])
    # 875 tokens are free: two turns of 300 are not enough to drop, three messages don't fit
    assert fits[0] is not None
    assert (fits[0].prompt_tokens, fits[0].left_out_messages, fits[0].left_out_tokens) == (1500, 4, 1200)


def test_a_short_prompt_and_one_that_cannot_be_counted_are_left_to_the_engine() -> None:
    engine = CountingFake()
    counter = TokenCounter(engine)
    fits: list[Fit | None] = []
    check_fit([ChatMessage("user", "short")], 8192, counter, fits.append)
    assert (fits, engine.asked) == ([None], [])
    check_fit([ChatMessage("user", "short")], 100, counter, fits.append)
    counter.apply([RequestFailed(request_id=1, error=FAILED)])
    assert fits == [None, None]
