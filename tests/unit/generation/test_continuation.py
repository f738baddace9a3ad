"""Prompts that end inside the assistant's turn, and answers whose thinking the prompt has opened."""

from __future__ import annotations

import pytest

from engine.backends.base import CancelToken
from engine.config import ChatMessage, SamplingSettings
from engine.errors import UsageError
from engine.generation.chat_session import ChatSession
from engine.generation.chat_template import ChatTemplate
from engine.generation.opening_tag import opening_tag
from tests.support.scripted_backend import END, RecordingSink, ScriptedBackend, model_info

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LLAMA_3 = (
    "{% set loop_messages = messages %}{% for message in loop_messages %}"
    "{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'"
    "+ message['content'] | trim + '<|eot_id|>' %}"
    "{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
)
MISTRAL = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}"
    "{% elif message['role'] == 'assistant' %}{{ ' ' + message['content'] + eos_token }}"
    "{% else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %}"
)
# as Qwen 3 and DeepSeek R1 do: thoughts are cut from answers, and the prompt opens the next ones
THINKING = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{{ m.content.split('</think>')[-1].lstrip('\n') }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}"
)
NO_GENERATION_PROMPT = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}</s>{% endfor %}"
USER = ChatMessage("user", "Hi")


def continued(source: str | None, text: str, bos: str = "", eos: str = "") -> str:
    return ChatTemplate(source, bos, eos).continuation([USER, ChatMessage("assistant", text)])


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        (CHATML, "One, two", "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nOne, two"),
        (
            LLAMA_3, "One, two ",
            "<s><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\nOne, two ",
        ),
        # this template has no generation prompt, and the model's own text began with the space
        (MISTRAL, " One, two", "<s>[INST] Hi [/INST] One, two"),
        (None, " One, two", "User: Hi\nAssistant: One, two"),
        (NO_GENERATION_PROMPT, "One", "<|user|>Hi</s><|assistant|>One"),
    ],
    ids=["chatml", "llama-3", "mistral", "plain", "no generation prompt"],
)  # fmt: skip
def test_the_prompt_ends_inside_the_answer(source: str | None, text: str, expected: str) -> None:
    assert continued(source, text, "<s>", "</s>") == expected


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("<think>\nHm", "<|im_start|>assistant\n<think>\nHm"),
        ("<think>Hm", "<|im_start|>assistant\n<think>\nHm"),
        ("<think>\nHm\n</think>\n\nOne", "<|im_start|>assistant\n<think>\nHm\n</think>\n\nOne"),
        ("One", "<|im_start|>assistant\nOne"),
    ],
)
def test_the_opened_thinking_is_neither_doubled_nor_put_before_an_answer(text: str, end: str) -> None:
    assert continued(THINKING, text) == "<|im_start|>user\nHi<|im_end|>\n" + end


@pytest.mark.parametrize("messages", [[], [USER]])
def test_only_an_answer_can_be_continued(messages: list[ChatMessage]) -> None:
    with pytest.raises(UsageError, match="Only an assistant"):
        ChatTemplate(CHATML, "", "").continuation(messages)


@pytest.mark.parametrize(
    ("prompt", "tag"),
    [
        ("a<think>", "<think>"),
        ("a\n<think>\n\n", "<think>\n\n"),
        ("a<seed:think>", "<seed:think>"),
        ("[THINK]", "[THINK]"),
        ("<think>\n\n</think>\n\n", ""),
        ("what is <think>?", ""),
        ("", ""),
    ],
)
def test_opening_tag(prompt: str, tag: str) -> None:
    assert opening_tag(prompt) == tag


def session(backend: ScriptedBackend, source: str = CHATML) -> ChatSession:
    return ChatSession(backend, model_info(), ChatTemplate(source, "<s>", "</s>"), backend.clock)


def test_an_answer_begins_with_the_tag_that_the_prompt_has_opened() -> None:
    backend, sink = ScriptedBackend([*b"Hm</think>Hi", END]), RecordingSink()
    result = session(backend, THINKING).answer([USER], SamplingSettings(), sink, CancelToken())
    assert result.text == sink.shown == "<think>\nHm</think>Hi"
    assert sink.of("text")[0] == ("<think>\nH", 1)


def test_an_answer_without_text_stays_empty() -> None:
    backend, sink = ScriptedBackend([END]), RecordingSink()
    result = session(backend, THINKING).answer([USER], SamplingSettings(), sink, CancelToken())
    assert (result.text, sink.shown) == ("", "")


def test_a_continued_answer_reports_only_what_is_new_and_reads_nothing_twice() -> None:
    backend = ScriptedBackend([*b"One, tw", END])
    chat = session(backend)
    limit = SamplingSettings(max_tokens=7)
    first = chat.answer([USER], limit, RecordingSink(), CancelToken())
    n_cached = len(chat.tokens)
    backend.script = iter([*b"o, three", END])
    sink = RecordingSink()
    messages = [USER, ChatMessage("assistant", first.text)]
    more = chat.answer(messages, SamplingSettings(), sink, CancelToken(), is_continuation=True)
    assert first.text + more.text == "One, two, three"
    assert sink.shown == "o, three"
    # the last token shown was never evaluated: it alone is new
    assert (more.usage.cached_tokens, more.usage.prompt_tokens) == (n_cached, n_cached + 1)


def test_a_continued_thought_gets_no_second_tag() -> None:
    backend = ScriptedBackend([*b"m", END])
    messages = [USER, ChatMessage("assistant", "<think>\nH")]
    chat = session(backend, THINKING)
    result = chat.answer(messages, SamplingSettings(), RecordingSink(), CancelToken(), is_continuation=True)
    assert result.text == "m"


def test_the_count_is_what_an_answer_would_read() -> None:
    backend, sink = ScriptedBackend([*b"Hi", END]), RecordingSink()
    chat = session(backend)
    count = chat.count_tokens([ChatMessage("system", "日本"), USER])
    chat.answer([ChatMessage("system", "日本"), USER], SamplingSettings(), sink, CancelToken())
    # begin token, three turns' marks of one token each, and the bytes between them
    written = "system\n日本" + "\n" + "user\nHi" + "\n" + "assistant\n"
    assert count == 1 + 5 + len(written.encode()) == sink.of("started")[0][0]


def test_a_prompt_that_does_not_fit_is_counted_all_the_same() -> None:
    backend = ScriptedBackend()
    chat = ChatSession(backend, model_info(context_tokens=8), ChatTemplate(CHATML, "", ""), backend.clock)
    assert chat.count_tokens([ChatMessage("user", "x" * 100)]) > 100
    assert backend.evaluations == []
