"""Blocks are complete only when nothing that follows can change them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chat.markdown_split import complete_length


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("", ""),
        ("One paragraph", ""),
        ("One\n\n", ""),
        ("One\n\nT", "One\n\n"),
        ("One\n\nTwo\n\n\nThree", "One\n\nTwo\n\n\n"),
        ("- a\n\n- b", ""),
        ("1. a\n\n2", ""),
        ("1. a\n\n2. b\n\nText", "1. a\n\n2. b\n\n"),
        ("- a\n\n  more of a", ""),
        ("```\ncode\n\nmore code", ""),
        ("```\ncode\n\nmore\n```\n\nText", "```\ncode\n\nmore\n```\n\n"),
        ("````\n```\n\nstill code", ""),
        ("~~~\n```\n~~~\n\nText", "~~~\n```\n~~~\n\n"),
        ("```py\na\n``` not closed\n\nstill code", ""),
        ("| a |\n|---|\n| 1 |\n\nText", "| a |\n|---|\n| 1 |\n\n"),
    ],
)
def test_complete_part(text: str, complete: str) -> None:
    assert text[: complete_length(text)] == complete


@given(st.lists(st.sampled_from(["word", "\n", "\n\n", "```\n", "- x", "1. y", "  ", "| c |"]), max_size=20))
def test_what_is_complete_stays_complete_as_text_arrives(parts: list[str]) -> None:
    lengths = [complete_length("".join(parts[:count])) for count in range(len(parts) + 1)]
    assert lengths == sorted(lengths)
