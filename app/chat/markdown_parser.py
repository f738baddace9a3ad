"""Markdown to tokens, as chat answers need it: GitHub's dialect, formulas, no HTML."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.gfm_autolink import gfm_autolink_plugin

from app.chat.east_asian_markdown import east_asian_plugin
from app.chat.math_rules import IS_GROWING, math_plugin

_DEEPEST = 40
Definitions = dict[str, object]


def markdown_tokens(text: str, definitions: Definitions, is_growing: bool = False) -> Sequence[Token]:
    """Block tokens with line numbers; `definitions` keeps link definitions between parts of one answer.

    `is_growing`: more of this text is still to come, so an open formula block is taken as one.
    """
    definitions[IS_GROWING] = is_growing
    tokens = _parser().parse(text, definitions)
    if any(token.level >= _DEEPEST - 1 for token in tokens):
        return _plain(text)  # the parser drops what lies deeper
    return tokens


def _plain(text: str) -> Sequence[Token]:
    """The text as it is, as one paragraph."""
    opening, inline, closing = (
        Token("paragraph_open", "p", 1),
        Token("inline", "", 0),
        Token("paragraph_close", "p", -1),
    )
    opening.map = [0, text.count("\n") + 1]
    inline.children = [Token("text", "", 0, content=text.strip("\n").replace("\n", "\u2028"))]
    return [opening, inline, closing]


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _DEEPEST}).enable(
        ["table", "strikethrough"]
    )
    parser.disable(["html_block", "html_inline"])
    parser.use(gfm_autolink_plugin)
    parser.use(east_asian_plugin)
    parser.use(math_plugin)
    return parser
