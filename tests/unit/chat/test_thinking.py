"""Thinking is told from the answer however its tags arrive."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chat.thinking import Segment, split_thinking, without_thinking

T, A = "thinking", "answer"

CASES = {
    "no tags": ("Just words.", [(A, "Just words.")]),
    "plain": ("<think>hm</think>Yes", [(T, "hm"), (A, "Yes")]),
    "with lines": ("<think>\nhm\nhm\n</think>\n\nYes", [(T, "hm\nhm"), (A, "Yes")]),
    "empty thinking": ("<think>\n\n</think>\n\nYes", [(A, "Yes")]),
    "opening in the template": ("hm\n</think>\nYes", [(T, "hm"), (A, "Yes")]),
    "opening in the template, one line": ("hm</think>Yes", [(T, "hm"), (A, "Yes")]),
    "no closing": ("<think>hm", [(T, "hm", True)]),
    "nothing after the opening": ("<think>", [(T, "", True)]),
    "twice": ("<think>a</think>b\n<think>c</think>d", [(T, "a"), (A, "b\n"), (T, "c"), (A, "d")]),
    "twice on one line": ("<think>a</think>b<think>c</think>d", [(T, "a"), (A, "b"), (T, "c"), (A, "d")]),
    "twice in a row": ("<think>a</think>\n<think>c</think>d", [(T, "a\n\nc"), (A, "d")]),
    "opened twice, closed once": ("<think><think>a</think>b", [(T, "a"), (A, "b")]),
    "closed twice": ("<think>a</think></think>b", [(T, "a"), (A, "b")]),
    "nested": ("<think>a<think>b</think>c</think>d", [(T, "abc"), (A, "d")]),
    "nested and open": ("<think>a<think>b</think>c", [(T, "ab"), (A, "c")]),
    "capitals": ("<THINK>a</Think>b", [(T, "a"), (A, "b")]),
    "thinking": ("<thinking>a</thinking>b", [(T, "a"), (A, "b")]),
    "brackets": ("[THINK]a[/THINK]b", [(T, "a"), (A, "b")]),
    "triangles": ("◁think▷a◁/think▷b", [(T, "a"), (A, "b")]),
    "channels": (
        "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>",
        [(T, "a"), (A, "b")],
    ),
    "in inline code": ("Write `<think>` first", [(A, "Write `<think>` first")]),
    "in a code block": ("```\n<think>\n</think>\n```\nEnd", [(A, "```\n<think>\n</think>\n```\nEnd")]),
    "words about tags": ("Use <think> and </think> there", [(A, "Use <think> and </think> there")]),
    "closing tag in code while thinking": (
        "<think>not `</think>` yet</think>b",
        [(T, "not `</think>` yet"), (A, "b")],
    ),
    "closing tag in a code block while thinking": (
        "<think>a\n```\n</think>\n```\nc</think>b",
        [(T, "a\n```\n</think>\n```\nc"), (A, "b")],
    ),
    "code that never ends while thinking": ("<think>a\n```\nc</think>b", [(T, "a\n```\nc"), (A, "b")]),
    "in the middle of a line": ("Sure.<think>a</think>b", [(A, "Sure."), (T, "a"), (A, "b")]),
    "control token at the end": ("Yes<|im_end|>", [(A, "Yes")]),
    "control token in code": ("`<|im_end|>` ends it", [(A, "`<|im_end|>` ends it")]),
    "other markup": ("a < b, <b>c</b> [THE] <thin>", [(A, "a < b, <b>c</b> [THE] <thin>")]),
}


@pytest.mark.parametrize("name", CASES)
def test_segments(name: str) -> None:
    text, expected = CASES[name]
    assert split_thinking(text) == [Segment(*each) for each in expected]


@pytest.mark.parametrize("tag", ["<think>", "</think>", "<|im_end|>", "◁/think▷"])
def test_a_tag_that_arrives_in_pieces_is_never_shown(tag: str) -> None:
    for length in range(1, len(tag)):
        segments = split_thinking("Words " + tag[:length], is_growing=True)
        assert segments == [Segment("answer", "Words ")]
    assert split_thinking("a <", is_growing=False) == [Segment("answer", "a <")]


def test_only_the_answer_is_copied() -> None:
    assert without_thinking("<think>a</think>\nb\n\n<think>c</think>\nd<|im_end|>") == "b\n\nd"


PIECES = ["<think>", "</think>", "`", "```\n", "word", " ", "\n", "<", "[/THINK]", "<|im_end|>"]


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_no_word_is_lost_and_none_is_added(parts: list[str]) -> None:
    text = "".join(parts)
    shown = "".join(segment.text for segment in split_thinking(text))
    assert shown.count("word") == text.count("word")
    assert len(shown) <= len(text) + 2 * len(parts)
