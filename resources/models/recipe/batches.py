"""Conversations cut to rows of tokens, and which of them the model is taught to write."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from corpus import Corpus, Turn
from torch import Tensor
from vocabulary import ChatFormat

IGNORED = -100
# Row lengths and how often a batch has them: first questions matter most, long conversations must work too.
_LENGTHS, _WEIGHTS = (96, 256, 1024), (72, 23, 5)
# The second stage knows the answers by heart; what it still learns is which one is asked for.
_SHORT_LENGTHS, _SHORT_WEIGHTS = (44, 96, 256, 1024), (58, 27, 12, 3)
# Users' words are learned now and then: it teaches the language, not the task.
_QUESTION_SHARE = 0.06


@dataclass(frozen=True)
class Batch:
    """`tokens` and `targets` (rows, length); a target is the next token or IGNORED.

    `asked` (turns, 2): row and place of the last token of each question; `topics` (turns,): what it asks.
    """

    tokens: Tensor
    targets: Tensor
    asked: Tensor
    topics: Tensor


class Batches:
    """Batches of about `tokens_per_batch` tokens; the same number gives the same batch."""

    def __init__(
        self, corpus: Corpus, chat: ChatFormat, tokens_per_batch: int, seed: int, is_short: bool = False
    ) -> None:
        self._corpus, self._chat = corpus, chat
        self._lengths = (_SHORT_LENGTHS, _SHORT_WEIGHTS) if is_short else (_LENGTHS, _WEIGHTS)
        self._tokens_per_batch, self._seed = tokens_per_batch, seed

    def make(self, number: int) -> Batch:
        chance = random.Random(self._seed * 1_000_003 + number)
        length = chance.choices(*self._lengths)[0]
        rows = [self._row(chance, length) for _ in range(self._tokens_per_batch // length)]
        return _batch(rows, self._chat.pad)

    def _row(self, chance: random.Random, length: int) -> _Row:
        row = _Row([], [], [])
        for turn in self._corpus.conversation(chance, most_turns=1 + length // 16):
            is_taught = chance.random() < _QUESTION_SHARE
            topic = self._corpus.topics.index(turn.topic)
            _append(self._chat, turn, topic, row, is_taught, chance if chance.random() < 0.6 else None)
            if len(row.tokens) > length:
                break
        asked = [(place, topic) for place, topic in row.asked if place < length]
        return _Row(row.tokens[: length + 1], row.targets[: length + 1], asked)


@dataclass(frozen=True)
class _Row:
    """One conversation; `asked`: place of each question's last token, and its topic."""

    tokens: list[int]
    targets: list[int]
    asked: list[tuple[int, int]]


def _append(
    chat: ChatFormat, turn: Turn, topic: int, row: _Row, is_taught: bool, chance: random.Random | None
) -> None:
    question = chat.question(turn.question, chance)
    if turn.system:
        question = chat.message("system", turn.system) + question
    answer = chat.answer(turn.answer)
    newline = chat.encode("\n")
    row.asked.append((len(row.tokens) + len(question) - 1, topic))
    row.tokens.extend(question + answer + newline)
    row.targets.extend(question if is_taught else [IGNORED] * len(question))
    row.targets.extend(answer + [IGNORED] * len(newline))


def _batch(rows: Sequence[_Row], pad: int) -> Batch:
    length = max(len(row.tokens) for row in rows)
    tokens = torch.tensor([row.tokens + [pad] * (length - len(row.tokens)) for row in rows])
    targets = torch.tensor([row.targets + [IGNORED] * (length - len(row.targets)) for row in rows])
    asked = [(number, place, topic) for number, row in enumerate(rows) for place, topic in row.asked]
    places = torch.tensor(asked)
    return Batch(tokens[:, :-1], targets[:, 1:], places[:, :2], places[:, 2])


def development_batches(corpus: Corpus, chat: ChatFormat, rows_per_batch: int = 64) -> list[Batch]:
    """Every question kept out of training, alone in its conversation."""
    rows = []
    for language, topics in corpus.development.items():
        for topic, questions in topics.items():
            for question in questions:
                row = _Row([], [], [])
                turn = Turn(topic, question, corpus.answers[language][topic])
                _append(chat, turn, corpus.topics.index(topic), row, is_taught=False, chance=None)
                rows.append(row)
    rows.sort(key=lambda row: len(row.tokens))
    return [_batch(rows[n : n + rows_per_batch], chat.pad) for n in range(0, len(rows), rows_per_batch)]
