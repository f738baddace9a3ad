from __future__ import annotations

import re
from datetime import datetime

import pytest

from engine.config import ChatMessage
from engine.errors import TemplateError
from engine.generation import template_sandbox
from engine.generation.chat_template import ChatTemplate, fold_system

CHATML = """\
{%- for message in messages %}
    {{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""
LLAMA_3 = (
    "{% set loop_messages = messages %}{% for message in loop_messages %}"
    "{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'"
    "+ message['content'] | trim + '<|eot_id|>' %}"
    "{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
)
GEMMA = """\
{{ bos_token }}{% if messages[0]['role'] == 'system' %}
    {{ raise_exception('System role not supported') }}
{% endif %}
{% for message in messages %}
    {% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}
    {% endif %}
    {% set role = 'model' if message['role'] == 'assistant' else message['role'] %}
{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}
{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}
"""
MISTRAL = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate') }}{% endif %}"
    "{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}"
    "{% elif message['role'] == 'assistant' %}{{ ' ' + message['content'] + eos_token }}"
    "{% else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %}"
)
SYSTEM = ChatMessage("system", "Be brief.")
USER = ChatMessage("user", "Hi")
ASSISTANT = ChatMessage("assistant", "Hello!")
AGAIN = ChatMessage("user", "Bye")
ALL = (SYSTEM, USER, ASSISTANT, AGAIN)


@pytest.mark.parametrize(
    ("source", "bos", "eos", "expected"),
    [
        pytest.param(
            CHATML, "", "<|im_end|>",
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
            "<|im_start|>assistant\nHello!<|im_end|>\n<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n",
            id="chatml",
        ),
        pytest.param(
            LLAMA_3, "<|begin_of_text|>", "<|eot_id|>",
            "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\nHello!<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nBye<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n",
            id="llama-3",
        ),
        pytest.param(
            GEMMA, "<bos>", "<eos>",
            "<bos><start_of_turn>user\nBe brief.\n\nHi<end_of_turn>\n"
            "<start_of_turn>model\nHello!<end_of_turn>\n"
            "<start_of_turn>user\nBye<end_of_turn>\n<start_of_turn>model\n",
            id="gemma folds the system text",
        ),
        pytest.param(
            MISTRAL, "<s>", "</s>",
            "<s>[INST] Be brief.\n\nHi [/INST] Hello!</s>[INST] Bye [/INST]",
            id="mistral folds the system text",
        ),
        pytest.param(
            None, "<s>", "</s>",
            "System: Be brief.\nUser: Hi\nAssistant: Hello!\nUser: Bye\nAssistant:",
            id="plain",
        ),
    ],
)  # fmt: skip
def test_whole_conversation(source: str | None, bos: str, eos: str, expected: str) -> None:
    assert ChatTemplate(source, bos, eos).render(ALL) == expected


def test_without_generation_prompt() -> None:
    text = ChatTemplate(CHATML, "", "").render([USER], add_generation_prompt=False)
    assert text == "<|im_start|>user\nHi<|im_end|>\n"


def test_only_the_plain_fallback_needs_stop_strings() -> None:
    assert ChatTemplate(None, "", "").stops == ("\nUser:", "\nAssistant:")
    assert ChatTemplate(CHATML, "", "").stops == ()


def test_plain_fallback_extends_prompt_and_answer_as_they_were() -> None:
    template = ChatTemplate(None, "", "")
    answer = ChatMessage("assistant", " Hello!")
    assert template.render([USER, answer, AGAIN]).startswith(template.render([USER]) + " Hello!\nUser: Bye")


def test_template_that_drops_the_system_role_gets_it_folded() -> None:
    source = "{% for m in messages if m.role != 'system' %}[{{ m.content }}]{% endfor %}"
    assert ChatTemplate(source, "", "").render([SYSTEM, USER]) == "[Be brief.\n\nHi]"


def test_fold_without_user_message_makes_one() -> None:
    assert fold_system([SYSTEM, ASSISTANT]) == [ChatMessage("user", "Be brief."), ASSISTANT]


def test_fold_joins_several_system_texts_in_order() -> None:
    more = ChatMessage("system", "Be kind.")
    folded = [ChatMessage("user", "Be brief.\n\nBe kind.\n\nHi"), ASSISTANT]
    assert fold_system([SYSTEM, USER, more, ASSISTANT]) == folded


def test_rejected_messages_name_reason_line_and_next_step() -> None:
    with pytest.raises(TemplateError) as caught:
        ChatTemplate(GEMMA, "", "").render([USER, AGAIN])
    assert "rejects these messages: Conversation roles must alternate" in caught.value.fault
    assert caught.value.fault.endswith("(line 6).")
    assert caught.value.detail.startswith("{{ raise_exception('Conversation roles")
    assert "new chat" in caught.value.next_step


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("a\n{% if x %}\nb", "can't be read: Unexpected end of template"),
        ("a\n{{ a['foo'(}}", r"can't be read: .*\(line 2\)"),
        ("a\n{# b", "can't be read: Missing end of comment tag"),
        ("{% for i in [1] %}" * 30 + "{% endfor %}" * 30, "can't be read: too many statically nested blocks"),
        ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "can't be read: "),
        ("a\nb\n{{ nothing.at.all }}", r"failed: 'nothing' is undefined \(line 3\)"),
        ("a\n{{ 1 / 0 }}", r"failed: division by zero \(line 2\)"),
        ("{{ messages.append(1) }}", r"failed: .*unsafe \(line 1\)"),
        ("{{ ''.__class__.__mro__ }}", r"failed: .*unsafe \(line 1\)"),
        ("{% include 'other' %}", "failed: no loader"),
        ("Always the same.", "leaves out the user's message"),
        ("{{ raise_exception('No.') }}", r"rejects these messages: No \(line 1\)"),
    ],
)
def test_broken_template_is_named_at_construction(source: str, fault: str) -> None:
    with pytest.raises(TemplateError, match=fault) as caught:
        ChatTemplate(source, "", "")
    assert "corrected file" in caught.value.next_step


@pytest.mark.parametrize(
    ("source", "excess"),
    [
        ("{% for i in range(10**9) %}{% endfor %}", "a call with a number above"),
        ("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", "steps"),
        (
            "{% for x in 'a' * 9999 recursive %}"
            "{% if loop.depth < 2 %}{{ loop('a' * 99999) }}{% endif %}{% endfor %}",
            "steps",
        ),
        (
            "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
            "steps",
        ),
        ("{% for i in range(99999) %}{{ 'abcdefghij' * 1000 }}{% endfor %}", "characters of text"),
        (
            "{% set n = namespace(x='a') %}{% for i in range(99) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
            "a text above",
        ),
        (
            "{% set n = namespace(x='a') %}{% for i in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}",
            "a value above",
        ),
        (
            "{% set n = namespace(x=3) %}{% for i in range(99) %}{% set n.x = n.x * n.x %}{% endfor %}",
            "a value above",
        ),
        ("{{ 'a' * 10**9 }}", "a value above"),
        ("{{ [0] * 10**9 }}", "a value above"),
        ("{{ 10**10**10 }}", "a value above"),
        ("{{ 'a'.ljust(10**9) }}", "a call with a number above"),
    ],
)
def test_hostile_template_is_stopped(source: str, excess: str) -> None:
    with pytest.raises(TemplateError, match=f"asks for too much: .*{excess}"):
        ChatTemplate(source, "", "")


def test_slow_template_is_stopped_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_sandbox, "MAX_SECONDS", -1.0)
    with pytest.raises(TemplateError, match="more than -1 seconds"):
        ChatTemplate(CHATML, "", "")


def test_limits_count_anew_for_each_render(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_sandbox, "MAX_STEPS", 10)
    template = ChatTemplate(CHATML, "", "")
    for _ in range(20):
        assert template.render([USER])
    with pytest.raises(TemplateError, match="more than 10 steps"):
        template.render([USER] * 11)


def test_long_conversation_is_within_the_limits() -> None:
    turns = [USER, ChatMessage("assistant", "x" * 1000)] * 3000
    assert ChatTemplate(CHATML, "", "").render(turns).count("<|im_end|>") == 6000


def test_language_extras_that_published_templates_use() -> None:
    source = (
        "{{ messages[0].content }}{% for m in messages %}{% if loop.last %}{% break %}{% endif %}"
        "{{ loop.length }}{{ m.content }}{% endfor %}"
        "{{ {'a': 'é<', 'b': [1]} | tojson }}|{{ [1] | tojson(indent=2) }}|{{ tools is none }}"
        "{% generation %}|{{ '%s' % 'x' }}{{ 'a' ~ 1 ~ none }}{% endgeneration %}"
        "{% for k, v in {'k': 'v'}.items() %}{{ k ~ v }}{% endfor %}{{ messages[::-1][0].content }}"
    )
    text = ChatTemplate(source, "", "").render([USER, AGAIN])
    assert text == 'Hi2Hi{"a": "é<", "b": [1]}|[\n  1\n]|True|xa1NonekvBye'


def test_strftime_now_gives_today() -> None:
    template = ChatTemplate("{{ strftime_now('%Y-%m-%d') }}{{ messages[0].content }}", "", "")
    before = datetime.now().astimezone().strftime("%Y-%m-%d")
    match = re.fullmatch(r"(\d{4}-\d\d-\d\d)Hi", template.render([USER]))
    assert match is not None
    assert before <= match[1] <= datetime.now().astimezone().strftime("%Y-%m-%d")
