"""Leaving out the fewest of the oldest turns, with exact figures and few counts."""

from __future__ import annotations

import math

import pytest

from app.chat.prompt_fit import Fit, FitSearch, answer_room_tokens, surely_fits
from engine.config import ChatMessage

SYSTEM = ChatMessage("system", "s" * 7)


def turns(*sizes: int) -> list[ChatMessage]:
    """User and assistant in turn; a message of n letters takes n tokens here."""
    return [ChatMessage(("user", "assistant")[n % 2], "x" * size) for n, size in enumerate(sizes)]


def searched(messages: list[ChatMessage], context_tokens: int) -> tuple[Fit, int]:
    """The outcome, and how many counts it took."""
    search, n_counts = FitSearch(messages), 0
    while search.fit is None:
        n_counts += 1
        search.answer(sum(len(each.content) for each in search.question), context_tokens)
    return search.fit, n_counts


@pytest.mark.parametrize(("context", "room"), [(8192, 256), (2048, 256), (800, 100), (80, 10)])
def test_room_for_an_answer(context: int, room: int) -> None:
    assert answer_room_tokens(context) == room


def test_what_fits_is_counted_once_and_left_whole() -> None:
    messages = [SYSTEM, *turns(10, 20, 30)]
    fit, n_counts = searched(messages, 80)  # 67 of the 70 beside the answer's room
    assert (fit.messages, fit.prompt_tokens, fit.left_out_messages) == (tuple(messages), 67, 0)
    assert fit.is_whole
    assert n_counts == 1


def test_the_limit_itself_fits_and_one_more_does_not() -> None:
    assert searched(turns(70), 80)[0].is_whole
    assert not searched(turns(71), 80)[0].is_whole


def test_the_fewest_oldest_turns_go_in_pairs_and_the_system_prompt_stays() -> None:
    messages = [SYSTEM, *turns(10, 20, 30, 5, 15)]
    fit, _ = searched(messages, 80)  # 87; without the first pair 57
    assert fit.messages == (SYSTEM, *messages[3:])
    assert (fit.prompt_tokens, fit.left_out_messages, fit.left_out_tokens) == (87, 2, 30)
    assert not fit.is_whole
    assert fit.room_tokens == 70


def test_a_last_message_that_is_too_long_by_itself() -> None:
    fit, n_counts = searched([SYSTEM, *turns(10, 20, 64)], 80)
    assert (fit.messages, fit.prompt_tokens, fit.left_out_messages) == ((), 101, 0)
    assert not fit.is_whole
    assert n_counts == 2


@pytest.mark.parametrize("context", range(30, 1300, 53))
def test_the_search_agrees_with_trying_all(context: int) -> None:
    sizes = [1 + n * 7 % 31 for n in range(61)]
    fit, n_counts = searched(turns(*sizes), context)
    limit = context - answer_room_tokens(context)
    expected = next((n for n in range(0, 61, 2) if sum(sizes[n:]) <= limit), None)
    assert fit.prompt_tokens == sum(sizes)
    if expected is None:
        assert fit.messages == ()
    else:
        assert fit.left_out_messages == expected
        assert fit.left_out_tokens == sum(sizes[:expected])
    assert n_counts <= 2 + math.ceil(math.log2(31))


def test_a_continued_answer_keeps_its_question() -> None:
    messages = turns(10, 20, 30, 15)
    fit, _ = searched(messages, 60)
    assert fit.messages == tuple(messages[2:])


def test_short_prompts_need_no_count() -> None:
    assert surely_fits(turns(100), 8192)
    assert not surely_fits(turns(8000), 8192)
    # three bytes a letter: a tokenizer may fall back to bytes
    assert not surely_fits([ChatMessage("user", "専" * 2400)], 8192)
