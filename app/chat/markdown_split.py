"""How much of a streaming answer is finished Markdown, so that it needs to be rendered only once."""

from __future__ import annotations

import re

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
# a list, an indented part or a table may go on after a blank line or belong to what stands before it
_MAY_CONTINUE = re.compile(r"\s|[-*+|>](\s|$)|\d{1,9}[.)]?(\s|$)|\d{1,9}$")


def complete_length(text: str) -> int:
    """Characters of `text` up to the last blank line after which something surely new has begun.

    0 while nothing is complete: inside a code fence, in a list, or before the next block has begun.
    """
    complete, position, fence, is_after_blank = 0, 0, "", False
    for line in text.splitlines(keepends=True):
        if not fence and is_after_blank and line.strip() and not _MAY_CONTINUE.match(line):
            complete = position
        fence = _fence_after(line, fence)
        is_after_blank = not line.strip()
        position += len(line)
    return complete


def _fence_after(line: str, fence: str) -> str:
    """The open fence after this line; a fence is closed by at least as many of the same sign, alone."""
    match = _FENCE.match(line)
    if match is None:
        return fence
    if not fence:
        return match[1]
    is_closing = match[1].startswith(fence) and not line[match.end() :].strip()
    return "" if is_closing else fence
