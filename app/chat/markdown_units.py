"""Cuts a growing Markdown text into units, of which all but the last will not change any more."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it.token import Token

from app.chat.markdown_parser import Definitions, markdown_tokens
from app.chat.math_rules import IS_CLOSED, MATH_BLOCK

PARAGRAPH = "paragraph_open"
_LISTS = ("bullet_list_open", "ordered_list_open")
# the last line, as far as it has come, may yet turn out to be a rule, a heading, a marker, a fence …
_UNDECIDED = re.compile(
    r"(?:^|\n)[ \t>]*(?:[-=*_~`#+|:$\\]+|\\?\[|\d{1,9}[.)]?|[-*+] +\[[ xX]?\]?)?[ \t]*\Z", re.ASCII
)
# a table's head before its second line is complete
_TABLE_HEAD = re.compile(r"(?:^|\n\n)[ \t]*\|[^\n]*(?:\n[ \t]*[|:\- \t]*)?\Z")
_TABLE_ROW = re.compile(r"\n[ \t]*\|[^\n]*\Z")
_SHOW_PARTIAL_ROWS = 1_500


@dataclass(frozen=True, slots=True)
class Unit:
    """One block, or one item of a list. `number` is that of an ordered item, else None."""

    tokens: Sequence[Token]
    first_line: int
    number: int | None = None

    @property
    def kind(self) -> str:
        """The type of the first token."""
        return self.tokens[0].type

    @property
    def is_closed(self) -> bool:
        """Whether nothing that follows on later lines can change it."""
        token = self.tokens[0]
        if token.type == "fence":
            return not self.is_open_fence
        if token.type == MATH_BLOCK:
            return bool(token.meta[IS_CLOSED])
        return token.type == "hr" or (token.type == "heading_open" and token.markup.startswith("#"))

    @property
    def is_open_fence(self) -> bool:
        """A code block at the outermost level whose closing line has not come."""
        token = self.tokens[0]
        if token.type != "fence" or token.map is None:
            return False
        return len(token.content.splitlines()) + 1 >= token.map[1] - token.map[0]


def units_of(
    text: str, definitions: Definitions, first_number: int | None = None, is_growing: bool = False
) -> list[Unit]:
    """The units of a text; `first_number` is the number of an ordered item at its very start."""
    tokens = markdown_tokens(text, definitions, is_growing)
    return [unit for block in _blocks(tokens) for unit in _cut(block, first_number)]


def decided_length(text: str) -> int:
    """How much of a growing text can be shown without turning into something else at once."""
    end = len(text)
    if match := _UNDECIDED.search(text, max(0, end - 200)):
        end = match.start() + (text[match.start() : match.start() + 1] == "\n")
    if match := _TABLE_HEAD.search(text, max(0, end - 2_000), end):
        end = match.start()
    elif end > _SHOW_PARTIAL_ROWS and (match := _TABLE_ROW.search(text, max(0, end - 2_000), end)):
        end = match.start() + 1
    return end


def line_start(text: str, line: int) -> int:
    """Where a line begins, in characters."""
    position = 0
    for _ in range(line):
        position = text.index("\n", position) + 1
    return position


def _blocks(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """The outermost blocks with all their tokens."""
    start, depth = 0, 0
    for place, token in enumerate(tokens):
        depth += token.nesting
        if depth == 0:
            yield tokens[start : place + 1]
            start = place + 1


def _cut(block: Sequence[Token], first_number: int | None) -> Iterator[Unit]:
    first = block[0]
    line = first.map[0] if first.map else 0
    if first.type not in _LISTS:
        yield Unit(block, line)
        return
    number = int(first.attrs.get("start", 1)) if first.type == "ordered_list_open" else None
    if number is not None and line == 0 and first_number is not None:
        number = first_number
    for item in _blocks(block[1:-1]):
        yield Unit(item, item[0].map[0] if item[0].map else line, number)
        number = None if number is None else number + 1
