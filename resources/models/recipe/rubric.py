"""The written rubric (evaluation/RUBRIC.md) as code: is an answer right, is it readable."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

RECIPE = Path(__file__).resolve().parent
OFF_SUBJECT = "off_subject"
_GRAM, _KNOWN_SHARE = 5, 0.95
_LOOP = re.compile(r"(.{6,60}?)\1\1", re.DOTALL)


@dataclass(frozen=True)
class Question:
    """One held-out question and the topic that answers it."""

    language: str
    topic: str
    text: str


@dataclass(frozen=True)
class Marks:
    """What the rubric says about one answer."""

    is_right: bool
    is_readable: bool


def held_out_questions() -> list[Question]:
    path = RECIPE / "evaluation" / "questions.toml"
    return [Question(**entry) for entry in tomllib.loads(path.read_text(encoding="utf-8"))["question"]]


class Rubric:
    """`must` patterns per language and topic, and the written answers readable text is compared with."""

    def __init__(self) -> None:
        tables = {name: _read(f"facts/{name}.toml") for name in ("topics", "ja", "zh")}
        self._must = {
            "en": {topic: entry["must"] for topic, entry in tables["topics"].items()},
            "ja": {topic: entry["must"] for topic, entry in tables["ja"].items()},
            "zh": {topic: entry["must"] for topic, entry in tables["zh"].items()},
        }
        written = [entry["en"] for entry in tables["topics"].values()]
        written += [entry["answer"] for name in ("ja", "zh") for entry in tables[name].values()]
        self._known = {gram for text in written for gram in _grams(text)}

    def mark(self, question: Question, answer: str, ended_by_itself: bool) -> Marks:
        """Right: every pattern of the topic is in the answer. Readable: see `is_readable`."""
        patterns = self._must[question.language][question.topic]
        is_right = all(re.search(pattern, answer, re.IGNORECASE) for pattern in patterns)
        return Marks(is_right, ended_by_itself and self.is_readable(answer))

    def is_readable(self, answer: str) -> bool:
        """Not empty, no broken character, nothing three times in a row, made of runs that we wrote."""
        if not answer.strip() or "\ufffd" in answer or _LOOP.search(answer):
            return False
        grams = list(_grams(answer))
        return not grams or sum(gram in self._known for gram in grams) >= _KNOWN_SHARE * len(grams)


def _grams(text: str) -> Iterable[str]:
    return (text[place : place + _GRAM] for place in range(len(text) - _GRAM + 1))


def _read(name: str) -> dict:
    return tomllib.loads((RECIPE / name).read_text(encoding="utf-8"))
