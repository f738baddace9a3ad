"""Conversations to learn from: the written facts, asked in many ways. Everything follows from a seed."""

from __future__ import annotations

import random
import tomllib
from dataclasses import dataclass
from pathlib import Path

FACTS = Path(__file__).resolve().parent / "facts"
LANGUAGES = ("en", "ja", "zh")
OFF_SUBJECT = "off_subject"
# every so many-th question is kept out of training, to see whether the model understands new wordings
DEVELOPMENT_EVERY = 12
_OFF_SUBJECT_SHARE, _FRAME_SHARE = 0.12, 0.22

_BEFORE = {
    "en": (
        "please, ", "hi, ", "hello, ", "hey, ", "quick question: ", "sorry, but ", "i wonder, ",
        "ok, ", "so, ", "excuse me, ",
    ),
    "ja": (
        "すみません、", "教えてください。", "質問です。", "こんにちは、", "あの、",
        "ちょっと聞きたいのですが、", "ねえ、", "では、",
    ),
    "zh": ("请问，", "你好，", "想问一下，", "问个问题：", "打扰一下，", "那么，", "嗯，", "麻烦问下，"),
}  # fmt: skip
_AFTER = {
    "en": (" please", " thanks", ", please", " in Emberglass", " here", " exactly", " in this program"),
    "ja": ("教えて", "お願いします", "？", "。", "でしょうか", "ね"),
    "zh": ("呢", "啊", "谢谢", "吗", "？", "。"),
}
_SYSTEM = {
    "en": (
        "You are a helpful assistant.",
        "Answer briefly.",
        "You are the guide of Emberglass.",
        "Be polite.",
    ),
    "ja": ("あなたは役に立つアシスタントです。", "短く答えてください。", "丁寧に答えてください。"),
    "zh": ("你是一个有用的助手。", "请简短回答。", "请礼貌地回答。"),
}
_JUNK = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Turn:
    """One question and the answer it gets; `system` is empty but for some first turns."""

    topic: str
    question: str
    answer: str
    system: str = ""


def _read(name: str) -> dict:
    return tomllib.loads((FACTS / name).read_text(encoding="utf-8"))


class Corpus:
    """Questions by language and topic, split into those to train on and those to check with.

    `is_rich`: longer questions too, with sentences around them that say nothing: the second stage.
    """

    def __init__(self, is_rich: bool = False) -> None:
        self._is_rich = is_rich
        english, frames = _read("topics.toml"), _read("frames.toml")
        self.topics = list(english)
        self.answers = {"en": {topic: english[topic]["en"] for topic in self.topics}}
        self.training: dict[str, dict[str, list[str]]] = {}
        self.development: dict[str, dict[str, list[str]]] = {}
        self.frames = {language: frames[language] for language in LANGUAGES}
        self.terms = frames["terms"]
        for language in LANGUAGES:
            table = _read(f"{language}.toml")
            if language != "en":
                self.answers[language] = {topic: table[topic]["answer"] for topic in self.topics}
            questions = {topic: table[topic]["questions"] for topic in self.topics if topic != OFF_SUBJECT}
            questions[OFF_SUBJECT] = (FACTS / f"off_subject.{language}.txt").read_text("utf-8").splitlines()
            self._split(language, questions)

    def _split(self, language: str, questions: dict[str, list[str]]) -> None:
        self.training[language], self.development[language] = {}, {}
        for place, topic in enumerate(self.topics):
            for number, question in enumerate(filter(None, map(str.strip, questions[topic]))):
                is_kept_out = (number + place) % DEVELOPMENT_EVERY == 0
                side = self.development if is_kept_out else self.training
                side[language].setdefault(topic, []).append(question)

    def all_text(self) -> list[str]:
        """What the tokenizer learns from."""
        texts = []
        for language in LANGUAGES:
            for topic in self.topics:
                texts += self.training[language][topic] + [self.answers[language][topic]] * 4
            frames = self.frames[language]
            texts += frames["other"] + [frame.replace("{}", "") for frame in frames["define"]]
            texts += [term for terms in self.terms[language].values() for term in terms]
        return texts

    def turn(self, chance: random.Random, language: str) -> Turn:
        """A question as somebody might type it, with its answer."""
        if chance.random() < _OFF_SUBJECT_SHARE:
            topic, question = OFF_SUBJECT, self._off_subject(chance, language)
        elif chance.random() < _FRAME_SHARE:
            topic = chance.choice(list(self.terms[language]))
            term = chance.choice(self.terms[language][topic])
            question = self._frame(chance, language).replace("{}", term)
        else:
            topic = chance.choice(self.topics)
            question = chance.choice(self.training[language][topic])
        question = roughen(chance, language, question)
        if self._is_rich:
            question = self._surrounded(chance, language, topic, question)
        return Turn(topic, question, self.answers[language][topic])

    def _frame(self, chance: random.Random, language: str) -> str:
        frames = self.frames[language]
        return chance.choice([*frames["define"], *frames["long"]] if self._is_rich else frames["define"])

    def _surrounded(self, chance: random.Random, language: str, topic: str, question: str) -> str:
        gap = " " if language == "en" else ""
        if chance.random() < 0.10 and topic in self.training[language]:
            question += gap + chance.choice(self.training[language][topic])
        if chance.random() < 0.30:
            question = chance.choice(self.frames[language]["before"]) + gap + question
        if chance.random() < 0.15:
            question += gap + chance.choice(self.frames[language]["after"])
        return question

    def _off_subject(self, chance: random.Random, language: str) -> str:
        draw = chance.random()
        if draw < 0.55:
            return chance.choice(self.training[language][OFF_SUBJECT])
        if draw < 0.95:
            return self._frame(chance, language).replace("{}", chance.choice(self.frames[language]["other"]))
        return " ".join(
            "".join(chance.choices(_JUNK, k=chance.randint(2, 9))) for _ in range(chance.randint(1, 4))
        )

    def conversation(self, chance: random.Random, most_turns: int) -> list[Turn]:
        """Turns in one language; now and then the user switches to another one."""
        language = chance.choice(LANGUAGES)
        turns = []
        for number in range(most_turns):
            if number and chance.random() < 0.08:
                language = chance.choice(LANGUAGES)
            turn = self.turn(chance, language)
            if not number and chance.random() < 0.05:
                turn = Turn(turn.topic, turn.question, turn.answer, chance.choice(_SYSTEM[language]))
            turns.append(turn)
        return turns


def roughen(chance: random.Random, language: str, question: str) -> str:
    """The same question typed by somebody else: politeness, case, punctuation, a lost word, a slip."""
    if chance.random() < 0.10:
        question = chance.choice(_BEFORE[language]) + question
    if chance.random() < 0.08:
        question = question.rstrip("?？.。") + chance.choice(_AFTER[language])
    if chance.random() < 0.35:
        question = question.rstrip("?？.。!！")
    if language == "en":
        question = _roughen_english(chance, question)
    else:
        question = _roughen_east_asian(chance, question)
    return question


def _roughen_east_asian(chance: random.Random, question: str) -> str:
    wide = chance.random() < 0.6
    for narrow_mark, wide_mark in (("?", "？"), ("!", "！"), (",", "，")):
        question = question.replace(*(narrow_mark, wide_mark) if wide else (wide_mark, narrow_mark))
    if chance.random() < 0.25 and len(question) > 6:
        place = chance.randrange(len(question))
        question = question[:place] + question[place + 1 :]
    return question


def _roughen_english(chance: random.Random, question: str) -> str:
    draw = chance.random()
    if draw < 0.4:
        question = question.lower()
    elif draw < 0.6:
        question = question[:1].upper() + question[1:]
    words = question.split(" ")
    if chance.random() < 0.25 and len(words) > 4:
        del words[chance.randrange(len(words))]
    if chance.random() < 0.12:
        place = chance.randrange(len(words))
        words[place] = _slip(chance, words[place])
    return " ".join(words)


def _slip(chance: random.Random, word: str) -> str:
    if len(word) < 4:
        return word
    place = chance.randrange(1, len(word) - 1)
    kind = chance.randrange(3)
    if kind == 0:
        return word[:place] + word[place + 1 :]
    if kind == 1:
        return word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    return word[:place] + word[place] + word[place:]
