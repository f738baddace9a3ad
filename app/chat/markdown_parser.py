"""Markdown to tokens, as chat answers need it: GitHub's dialect, formulas, no HTML."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.gfm_autolink import gfm_autolink_plugin

from app.chat.math_rules import IS_GROWING, math_plugin

Definitions = dict[str, object]


def markdown_tokens(text: str, definitions: Definitions, is_growing: bool = False) -> Sequence[Token]:
    """Block tokens with line numbers; `definitions` keeps link definitions between parts of one answer.

    `is_growing`: more of this text is still to come, so an open formula block is taken as one.
    """
    definitions[IS_GROWING] = is_growing
    return _parser().parse(text, definitions)


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.disable(["html_block", "html_inline"])
    parser.use(gfm_autolink_plugin)
    parser.use(math_plugin)
    return parser
