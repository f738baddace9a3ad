"""Typed letters find the command that is meant."""

from __future__ import annotations

import pytest

from app.fuzzy_match import fuzzy_score

_TEXTS = (
    "New conversation", "Search conversations", "Open a model", "Load with other settings", "Settings",
    "Conversation settings", "Larger text", "会話を検索", "Stop",
)  # fmt: skip


def best(typed: str) -> str:
    scores = {text: score for text in _TEXTS if (score := fuzzy_score(typed, text)) is not None}
    return max(scores, key=lambda text: scores[text])


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("nc", "New conversation"), ("NEW", "New conversation"), ("om", "Open a model"),
        ("sett", "Settings"), ("settings conv", "Conversation settings"), ("lws", "Load with other settings"),
        ("検索", "会話を検索"), ("st", "Stop"), ("txt", "Larger text"),
    ],
)  # fmt: skip
def test_the_meant_text_scores_best(typed: str, meant: str) -> None:
    assert best(typed) == meant


@pytest.mark.parametrize(("typed", "text"), [("xyz", "Stop"), ("pots", "Stop"), ("stop stop it", "Stop")])
def test_letters_that_are_missing_or_out_of_order_do_not_fit(typed: str, text: str) -> None:
    assert fuzzy_score(typed, text) is None


def test_nothing_typed_fits_everything() -> None:
    assert all(fuzzy_score(" ", text) is not None for text in _TEXTS)
