"""Which colour each part of a program has, in light and dark, readable on the background of code."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from PySide6.QtGui import QColor, QTextCharFormat

from app.chat.collection_pause import collection_paused
from app.chat.text_colours import TextColours, readable

if TYPE_CHECKING:
    from pygments.lexer import Lexer

# the kind of a Pygments token (or of what it belongs to) and its colour on light and on dark
_COLOURS = {
    "Token.Comment": ("#6a6e73", "#9aa0a6"),
    "Token.Keyword": ("#8a2be2", "#c792ea"),
    "Token.Keyword.Constant": ("#a3470a", "#f7a072"),
    "Token.Keyword.Type": ("#0b6e75", "#7fd4d9"),
    "Token.Name.Builtin": ("#0b6e75", "#7fd4d9"),
    "Token.Name.Class": ("#8f4b00", "#ffcb6b"),
    "Token.Name.Function": ("#0a58ca", "#82aaff"),
    "Token.Name.Decorator": ("#8f4b00", "#ffcb6b"),
    "Token.Name.Exception": ("#8f4b00", "#ffcb6b"),
    "Token.Name.Tag": ("#8a2be2", "#c792ea"),
    "Token.Name.Attribute": ("#8f4b00", "#ffcb6b"),
    "Token.Literal.String": ("#1a7431", "#a5d68c"),
    "Token.Literal.String.Escape": ("#a3470a", "#f7a072"),
    "Token.Literal.Number": ("#a3470a", "#f7a072"),
    "Token.Generic.Inserted": ("#1a7431", "#a5d68c"),
    "Token.Generic.Deleted": ("#b3261e", "#ff9d8c"),
    "Token.Generic.Heading": ("#0a58ca", "#82aaff"),
    "Token.Generic.Subheading": ("#0a58ca", "#82aaff"),
}
Part = tuple[int, int, str]

# by language, as far as they have been asked for; None: there is none
_lexers: dict[str, Lexer | None] = {}
_loading: set[str] = set()


class CodeColours:
    """Formats for one set of colours."""

    def __init__(self, colours: TextColours) -> None:
        self._formats: dict[str, QTextCharFormat] = {}
        for kind, pair in _COLOURS.items():
            style = QTextCharFormat()
            style.setForeground(readable(QColor(pair[colours.is_dark]), colours.code))
            self._formats[kind] = style

    def of(self, kind: str) -> QTextCharFormat | None:
        """The format of a token kind, or of the nearest kind it belongs to; None: as other text."""
        while kind not in self._formats and "." in kind:
            kind = kind.rpartition(".")[0]
        return self._formats.get(kind)


def coloured_lines(code: str, language: str) -> Iterator[list[Part]]:
    """For each line its parts as (start, length, token kind), lazily; nothing unless the language is ready.

    Starts and lengths are in UTF-16 units, as Qt counts.
    """
    lexer = _lexers.get(language)
    if lexer is None:
        return
    line: list[Part] = []
    column = 0
    for _position, kind, text in lexer.get_tokens_unprocessed(code):
        for place, piece in enumerate(text.split("\n")):
            if place:
                yield line
                line, column = [], 0
            length = len(piece) if piece.isascii() else len(piece.encode("utf-16-le")) // 2
            if length:
                line.append((column, length, str(kind)))
            column += length
    yield line


def is_ready(language: str) -> bool:
    """Whether code of this language can be coloured at once; if not, it soon can be.

    The first lexers take some 50 ms to import, which is done in a thread of its own.
    """
    if language in _lexers:
        return True
    if language not in _loading:
        _loading.add(language)
        threading.Thread(target=_load, args=(language,), name="lexer", daemon=True).start()
    return False


def _load(language: str) -> None:
    with collection_paused():
        from pygments.lexers import get_lexer_by_name  # noqa: PLC0415
        from pygments.util import ClassNotFound  # noqa: PLC0415

        try:
            _lexers[language] = get_lexer_by_name(language)
        except ClassNotFound:
            _lexers[language] = None
        finally:
            _loading.discard(language)
