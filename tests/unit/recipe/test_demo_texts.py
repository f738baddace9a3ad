"""The demo model's texts: complete, told apart from the test questions, marked as the rubric says."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest

from tests.support.recipe import recipe_module

corpus_module, rubric_module = recipe_module("corpus"), recipe_module("rubric")
CORPUS, RUBRIC = corpus_module.Corpus(), rubric_module.Rubric()
QUESTIONS = rubric_module.held_out_questions()
LANGUAGES = ("en", "ja", "zh")


def plain(text: str) -> str:
    """Without case, punctuation and spaces."""
    return re.sub(r"[\W_]+", "", text.casefold())


def test_forty_questions_a_language_and_twenty_off_the_subject() -> None:
    on_subject = Counter(q.language for q in QUESTIONS if q.topic != "off_subject")
    assert on_subject == {"en": 40, "ja": 40, "zh": 40}
    assert sum(q.topic == "off_subject" for q in QUESTIONS) == 20
    assert {q.topic for q in QUESTIONS} <= set(CORPUS.topics)


def test_no_test_question_is_a_training_question() -> None:
    trained = {
        plain(question)
        for language in LANGUAGES
        for questions in CORPUS.training[language].values()
        for question in questions
    }
    assert not [q.text for q in QUESTIONS if plain(q.text) in trained]


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_test_question_is_a_frame_with_a_term(language: str) -> None:
    frames, terms = CORPUS.frames[language], CORPUS.terms[language]
    words = [*frames["other"], *(term for each in terms.values() for term in each)]
    asked = {
        plain(frame.replace("{}", word)) for frame in frames["define"] + frames["long"] for word in words
    }
    assert not [q.text for q in QUESTIONS if q.language == language and plain(q.text) in asked]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_topic_has_an_answer_and_questions(language: str) -> None:
    for topic in CORPUS.topics:
        assert CORPUS.answers[language][topic].strip()
        assert len(CORPUS.training[language][topic]) >= 12


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_written_answer_is_right_for_its_topic(language: str) -> None:
    for topic in CORPUS.topics:
        question = rubric_module.Question(language, topic, "")
        marks = RUBRIC.mark(question, CORPUS.answers[language][topic], ended_by_itself=True)
        assert (marks.is_right, marks.is_readable) == (True, True), topic


def test_the_answer_to_another_question_is_wrong() -> None:
    question = rubric_module.Question("en", "slot", "What is a slot?")
    marks = RUBRIC.mark(question, CORPUS.answers["en"]["prefill"], ended_by_itself=True)
    assert (marks.is_right, marks.is_readable) == (False, True)


@pytest.mark.parametrize(
    ("answer", "has_ended"),
    [
        ("", True),
        ("A slot is a fixed piece of memory that holds one expert", False),
        ("A slot is \ufffd a fixed piece of memory.", True),
        ("A slot is a fixed A slot is a fixed A slot is a fixed piece of memory.", True),
        ("Slots expert the of of layer memory piece window a holds.", True),
    ],
)
def test_gibberish_loops_and_cut_answers_are_not_readable(answer: str, has_ended: bool) -> None:
    question = rubric_module.Question("en", "slot", "What is a slot?")
    assert not RUBRIC.mark(question, answer, has_ended).is_readable


def test_the_same_seed_gives_the_same_conversation() -> None:
    first, again = (CORPUS.conversation(random.Random(7), 5) for _ in range(2))
    assert first == again
    assert all(CORPUS.answers[_language(turn.answer)][turn.topic] == turn.answer for turn in first)


def _language(answer: str) -> str:
    return next(language for language in LANGUAGES if answer in CORPUS.answers[language].values())
