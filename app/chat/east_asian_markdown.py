"""Markdown's rules about words suppose spaces between them; Japanese and Chinese have none."""

from __future__ import annotations

import re
from collections.abc import Callable
from unicodedata import east_asian_width

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Delimiter

_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
_LONGEST_ADDRESS = 2_000
_InlineRule = Callable[[StateInline, bool], bool]


def east_asian_plugin(parser: MarkdownIt) -> None:
    """Stars make words bold beside any sign; an address ends where Japanese, Chinese or Korean begins."""
    ruler = parser.inline.ruler
    ruler.before("emphasis", "east_asian_emphasis", _emphasis)
    for name, rule in zip(ruler.get_active_rules(), ruler.getRules(""), strict=True):
        if name.startswith("gfm_autolink"):
            ruler.at(name, _ending_before_wide(rule))


def _emphasis(state: StateInline, silent: bool) -> bool:
    """As the parser's own rule, which demands a space between a wide letter, stars and a bracket."""
    if silent or state.src[state.pos] != "*":
        return False
    scanned = state.scanDelims(state.pos, True)
    end = state.pos + scanned.length
    before = state.src[state.pos - 1] if state.pos else " "
    after = state.src[end] if end < state.posMax else " "
    if not (_is_wide(before) or _is_wide(after)):
        return False
    for _ in range(scanned.length):
        state.push("text", "", 0).content = "*"
        delimiter = Delimiter(
            marker=ord("*"),
            length=scanned.length,
            token=len(state.tokens) - 1,
            end=-1,
            open=not after.isspace(),
            close=not before.isspace(),
        )
        state.delimiters.append(delimiter)
    state.pos = end
    return True


def _is_wide(sign: str) -> bool:
    return east_asian_width(sign) in "WF"


def _ending_before_wide(rule: _InlineRule) -> _InlineRule:
    """The rule, to which the text seems to end before the next wide sign."""

    def limited(state: StateInline, silent: bool) -> bool:
        source, limit = state.src, state.posMax
        wide = _WIDE.search(source, state.pos, state.pos + _LONGEST_ADDRESS)
        if wide is None:
            return rule(state, silent)
        state.src, state.posMax = source[: wide.start()], min(limit, wide.start())
        try:
            return rule(state, silent)
        finally:
            state.src, state.posMax = source, limit

    return limited
