"""How well a few typed letters fit a line of text; without Qt."""

from __future__ import annotations

_START, _WORD_START, _NEXT_LETTER, _LETTER = 12, 8, 5, 1


def fuzzy_score(typed: str, text: str) -> int | None:
    """Higher is better; None if a word of `typed` has a letter that `text` lacks in that order.

    Words may come in any order; letters at word starts and letters in a row count most.
    """
    folded = text.casefold()
    score = 0
    for word in typed.casefold().split():
        found = _word_score(word, folded)
        if found is None:
            return None
        score += found
    # of two equal fits the shorter text is meant
    return score * 100 - min(len(folded), 99)


def _word_score(word: str, text: str) -> int | None:
    """The best over all places the word could begin at."""
    starts = [place for place, letter in enumerate(text) if letter == word[0]]
    scores = [score for start in starts if (score := _score_from(word, text, start)) is not None]
    return max(scores, default=None)


def _score_from(word: str, text: str, start: int) -> int | None:
    place, score = start, _place_score(text, start)
    for letter in word[1:]:
        found = text.find(letter, place + 1)
        if found < 0:
            return None
        score += _NEXT_LETTER if found == place + 1 else _place_score(text, found)
        place = found
    return score


def _place_score(text: str, place: int) -> int:
    if place == 0:
        return _START
    return _LETTER if text[place - 1].isalnum() else _WORD_START
