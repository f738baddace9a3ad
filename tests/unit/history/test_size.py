"""A thousand messages (100,000 tokens) are read, searched and saved in time, on a busy machine too."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable

import pytest

from app.history.importing import import_json
from app.history.store import HistoryStore

MESSAGES = 1_000
TOKENS_EACH = 100  # of about four characters


@pytest.fixture
def long_talk(store: HistoryStore) -> HistoryStore:
    text = "word" * (TOKENS_EACH - 1)
    messages = [
        {"role": role, "text": f"専門 {text}", "parent": number - 1 if number else None}
        for number, role in enumerate(("user", "assistant") * (MESSAGES // 2))
    ]
    whole = {
        "format": "emberglass-conversations", "version": 1,
        "conversations": [{"title": "long", "messages": messages}],
    }  # fmt: skip
    import_json(store, json.dumps(whole))
    return store


def median_seconds(action: Callable[[int], object], times: int) -> float:
    spans = []
    for number in range(times):
        started = time.perf_counter()
        action(number)
        spans.append(time.perf_counter() - started)
    return statistics.median(spans)


def test_a_thousand_messages_are_read_in_time(long_talk: HistoryStore) -> None:
    assert len(long_talk.messages(1)) == MESSAGES
    assert median_seconds(lambda _: long_talk.messages(1), 7) < 0.1
    assert median_seconds(lambda _: long_talk.search("専門", 1), 7) < 0.1


def test_saving_costs_the_window_nothing_to_speak_of(long_talk: HistoryStore) -> None:
    answer = long_talk.begin_answer(1, "m")
    assert (
        median_seconds(lambda number: long_talk.save_answer_text(answer.id, f"{number} " * 500), 60) < 0.002
    )
    assert median_seconds(lambda number: long_talk.keep_draft(1, f"draft {number}"), 60) < 0.002
