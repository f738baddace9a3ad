"""Where Markdown holds LaTeX: `$$`, `\\( \\)`, `\\[ \\]`, and `$…$` only where it can't be money."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

MATH_INLINE, MATH_BLOCK = "math_inline", "math_block"
# what a token knows beside its content: the text as it was written, and whether a block has its end
SOURCE, IS_CLOSED = "source", "is_closed"
# set in a parser's environment while the text still grows: a block that is not closed yet counts as one
IS_GROWING = "is_growing"

_LONGEST_INLINE = 400
_LONGEST_OPEN_BLOCK = 4_000
_BLOCK_ENDS = {"$$": "$$", "\\[": "\\]"}
_INLINE_ENDS = {"\\(": "\\)", "\\[": "\\]", "$$": "$$"}
# a backslash command, a script, a relation, an operator beside letters
_SIGNS = re.compile(r"[\\^_{}=<>≤≥≠±×·√∑∫∈→]")
_STRONG_SIGNS = re.compile(r"\\[a-zA-Z]|[\^_{]")
_NUMBER_BY_LETTER = re.compile(r"\d+[a-zA-Z](?![a-zA-Z]).*")
_COMMANDS = re.compile(
    r"\\(?:text|mathrm|operatorname|textbf|mathbf)\{[^}]*\}|\\[a-zA-Z]+|[_^]\{[^}]*\}|[_^]\w+", re.ASCII
)
_FUNCTIONS = re.compile(r"\b(sin|cos|tan|log|ln|exp|min|max|lim|mod|det|gcd)\b")
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]")
_SHORT_WORDS = frozenset(("as", "at", "be", "by", "if", "in", "is", "it", "no", "of", "on", "or", "so", "to"))
_ALGEBRA = re.compile(r"[\wͰ-Ͽ+\-−*/().,|!:' ]+")


def math_plugin(parser: MarkdownIt) -> None:
    """Adds the tokens `math_inline` and `math_block`; `markup` is the opening sign."""
    parser.inline.ruler.before("escape", MATH_INLINE, _inline)
    ends: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    parser.block.ruler.before("fence", MATH_BLOCK, _block, ends)


def is_formula(content: str) -> bool:
    """Whether the text between two single dollar signs reads as a formula, not as prose or money."""
    if _has_words(content) or _WIDE.search(content):
        return False
    if content[:1].isdigit():
        return bool(_STRONG_SIGNS.search(content) or _NUMBER_BY_LETTER.fullmatch(content))
    if _SIGNS.search(content):
        return True
    return bool(_ALGEBRA.fullmatch(content)) and any(each.isalpha() for each in content)


def _has_words(content: str) -> bool:
    """Prose between the signs: words that are no commands, functions, names in \\text{} or subscripts."""
    rest = _FUNCTIONS.sub(" ", _COMMANDS.sub(" ", content))
    return any(len(word) > 2 or word.lower() in _SHORT_WORDS for word in re.findall(r"[^\W\d_]+", rest))


def _inline(state: StateInline, silent: bool) -> bool:
    source, position = state.src, state.pos
    opening = source[position : position + 2]
    if opening in _INLINE_ENDS:
        found = _between(source, position, opening, _INLINE_ENDS[opening], state.posMax)
    elif source[position] == "$":
        opening, found = "$", _single_dollars(source, position, state.posMax)
    else:
        return False
    if found is None:
        return False
    content, end = found
    if not silent:
        token = state.push(MATH_INLINE, "", 0)
        token.content, token.markup = content, opening
        token.meta[SOURCE] = source[position:end]
    state.pos = end
    return True


def _between(source: str, start: int, opening: str, closing: str, limit: int) -> tuple[str, int] | None:
    """Content and end of a formula with signs of two characters."""
    end = source.find(closing, start + 2, min(limit, start + _LONGEST_INLINE))
    if end < 0 or (opening == "$$" and "$" in source[start + 2 : start + 3] + source[end + 2 : end + 3]):
        return None
    content = source[start + 2 : end].strip()
    if not content or (opening == "\\[" and content.isdigit()):
        return None  # \[1\] is an escaped reference
    if opening == "$$" and not is_formula(content):
        return None
    return content, end + 2


def _single_dollars(source: str, start: int, limit: int) -> tuple[str, int] | None:
    before, after = source[start - 1 : start], source[start + 1 : start + 2]
    if _is_word(before) or before == "$" or not after.strip() or after == "$":
        return None
    end = source.find("$", start + 1, min(limit, start + _LONGEST_INLINE))
    if end < 0:
        return None
    content, follows = source[start + 1 : end], source[end + 1 : end + 2]
    is_closed = not content[-1].isspace() and content[-1] != "\\" and not _is_word(follows) and follows != "$"
    if not is_closed or "\n" in content or "`" in content or not is_formula(content):
        return None
    return content, end + 1


def _is_word(sign: str) -> bool:
    """A letter or digit of a script with spaces between words."""
    return sign.isalnum() and not _WIDE.match(sign)


def _block(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """A formula that begins a line; it ends with a line that ends with the closing sign."""
    if state.is_code_block(start_line):
        return False
    begin = state.bMarks[start_line] + state.tShift[start_line]
    opening = state.src[begin : begin + 2]
    closing = _BLOCK_ENDS.get(opening)
    if closing is None or state.src[begin + 2 : begin + 3] == "$":
        return False
    found = _block_lines(state, start_line, end_line, closing)
    if found is None or not found[0].strip(" \n$"):
        return False
    if not silent:
        content, next_line, is_closed = found
        token = state.push(MATH_BLOCK, "", 0)
        token.content, token.markup = content.strip(), opening
        token.map = [start_line, next_line]
        token.meta[IS_CLOSED] = is_closed
        token.meta[SOURCE] = f"{opening}{content}{closing if is_closed else ''}"
        state.line = next_line
    return True


def _block_lines(
    state: StateBlock, start_line: int, end_line: int, closing: str
) -> tuple[str, int, bool] | None:
    """Content, next line, whether it is closed; None if this is no formula block."""
    lines: list[str] = []
    for line in range(start_line, end_line):
        if line > start_line and not state.isEmpty(line) and state.sCount[line] < state.blkIndent:
            break
        text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].rstrip()
        text = text[2:] if line == start_line else text
        place = text.find(closing)
        if place >= 0:
            lines.append(text[:place])
            # words after the closing sign: this is a paragraph that begins with a formula
            return ("\n".join(lines), line + 1, True) if place + 2 == len(text) else None
        lines.append(text)
    content = "\n".join(lines)
    is_open = bool(state.env.get(IS_GROWING)) and len(content) < _LONGEST_OPEN_BLOCK
    return (content, end_line, False) if is_open and state.level == 0 else None
