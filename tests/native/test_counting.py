"""Counting and continuing with real llama.cpp, on a model whose tokens are bytes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.backends.base import CancelToken
from engine.config import ChatMessage, SamplingSettings
from engine.generation.chat_session import ChatSession, GenerationResult
from engine.generation.chat_template import ChatTemplate
from tests.native.conftest import TinyModels
from tests.support.exact_runs import loaded, settings_for
from tests.support.scripted_backend import RecordingSink

MESSAGES = [ChatMessage("system", "Sei nett."), ChatMessage("user", "専門家 🙂")]
GREEDY = SamplingSettings(temperature=0, max_tokens=12)


@pytest.fixture
def session(tiny_models: TinyModels) -> Iterator[ChatSession]:
    with loaded(settings_for(tiny_models("qwen3moe"), 12, 16)) as (backend, info):
        template = ChatTemplate(backend.chat_template(), backend.special_text("bos"), "")
        yield ChatSession(backend, info, template)


def answer(session: ChatSession, messages: list[ChatMessage], goes_on: bool) -> GenerationResult:
    return session.answer(messages, GREEDY, RecordingSink(), CancelToken(), is_continuation=goes_on)


def test_the_count_is_that_of_the_bytes_and_marks_and_of_the_answer(session: ChatSession) -> None:
    # each turn: begin mark, role, line end, text, end mark, line end; then the assistant's header
    turns = [("system", "Sei nett."), ("user", "専門家 🙂")]
    by_hand = (
        sum(1 + len(f"{role}\n{text}".encode()) + 1 + 1 for role, text in turns) + 1 + len("assistant\n")
    )
    assert session.count_tokens(MESSAGES) == by_hand
    assert answer(session, MESSAGES, False).usage.prompt_tokens == by_hand


def test_a_continued_answer_is_the_same_as_the_raw_text_continued(session: ChatSession) -> None:
    said = "Once upon a time"
    goes_on = answer(session, [*MESSAGES, ChatMessage("assistant", said)], True)
    session.forget()
    raw = (
        "<|im_start|>system\nSei nett.<|im_end|>\n<|im_start|>user\n専門家 🙂<|im_end|>\n"
        f"<|im_start|>assistant\n{said}"
    )
    expected = session.generate_from_text(raw, GREEDY, RecordingSink(), CancelToken())
    assert goes_on.text == expected.text
    assert goes_on.usage.prompt_tokens == expected.usage.prompt_tokens == session.count_tokens(MESSAGES) + 16


def test_what_was_read_and_written_is_not_read_again(session: ChatSession) -> None:
    answer(session, MESSAGES, False)
    n_cached = session.count_tokens(MESSAGES)
    goes_on = answer(session, [*MESSAGES, ChatMessage("assistant", "other words")], True)
    assert goes_on.usage.cached_tokens >= n_cached
