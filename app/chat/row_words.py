"""What a row of the conversation list says, and which part of it was searched for."""

from __future__ import annotations

from dataclasses import dataclass

from app.history.records import Conversation, SearchHit

_MOST_BEFORE_MATCH = 14
_BUSY_SIGN = "● "


@dataclass(frozen=True, slots=True)
class RowWords:
    """One or two lines; `lines[marked_line][mark_start:mark_end]` is what was searched for.

    `said` is the same for a screen reader.
    """

    lines: tuple[str, ...]
    said: str
    marked_line: int = 0
    mark_start: int = 0
    mark_end: int = 0

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def conversation_words(conversation: Conversation, is_busy: bool) -> RowWords:
    """The title, with a mark while an answer is made."""
    title = shown_title(conversation.title)
    if not is_busy:
        return RowWords((title,), title)
    return RowWords((_BUSY_SIGN + title,), f"{title}, answering")


def hit_words(hit: SearchHit) -> RowWords:
    """The title, and below it the place in the text; a found title is marked itself."""
    line, start, end = _near_match(hit)
    title = shown_title(hit.title)
    if hit.message_id is None:
        return RowWords((line,), title, 0, start, end)
    return RowWords((title, line), f"{title}: {hit.excerpt.strip()}", 1, start, end)


def shown_title(title: str) -> str:
    """A conversation without a title has a name all the same; a title is one line."""
    return " ".join(title.split()) or "Untitled"


def _near_match(hit: SearchHit) -> tuple[str, int, int]:
    """The excerpt from a little before the match, so that a narrow list shows the match."""
    cut = max(0, hit.match_start - _MOST_BEFORE_MATCH)
    # not in the middle of a word, where words have blanks between them
    blank = hit.excerpt.find(" ", cut, hit.match_start)
    cut = blank + 1 if cut and blank >= 0 else cut
    lead = "…" if cut else ""
    shift = len(lead) - cut
    return lead + hit.excerpt[cut:], hit.match_start + shift, hit.match_end + shift
