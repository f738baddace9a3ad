"""Words as tokens: lossless, with control tokens only where asked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.backends.fake_vocabulary import BEGIN_TOKEN, END_TOKEN, N_VOCAB, FakeVocabulary


def joined(vocabulary: FakeVocabulary, tokens: list[int]) -> str:
    return b"".join(vocabulary.token_bytes(token) for token in tokens).decode()


@given(st.text())
def test_plain_text_comes_back(text: str) -> None:
    vocabulary = FakeVocabulary()
    assert joined(vocabulary, vocabulary.tokenize(text, parse_special=False)) == text


def test_control_tokens_only_when_parsed() -> None:
    vocabulary = FakeVocabulary()
    parsed = vocabulary.tokenize("<|begin|>hi<|end|>", parse_special=True)
    assert (parsed[0], parsed[-1]) == (BEGIN_TOKEN, END_TOKEN)
    assert joined(vocabulary, parsed) == "hi"
    assert vocabulary.text(parsed) == "<|begin|>hi<|end|>"
    assert END_TOKEN not in vocabulary.tokenize("hi<|end|>", parse_special=False)


def test_a_full_vocabulary_falls_back_to_bytes() -> None:
    vocabulary = FakeVocabulary()
    words = " ".join(str(number) for number in range(N_VOCAB + 100)) + " é"
    tokens = vocabulary.tokenize(words, parse_special=False)
    assert max(tokens) == N_VOCAB - 1
    assert joined(vocabulary, tokens) == words
