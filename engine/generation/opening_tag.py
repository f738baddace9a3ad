"""The tag that opens a model's thinking, where a chat template writes it at the end of the prompt."""

from __future__ import annotations

import re

_OPENING = re.compile(
    r"(?:<(?:think|thinking|thought|reason|reasoning|seed:think)>|\[THINK\])\s*\Z", re.IGNORECASE
)


def opening_tag(prompt: str) -> str:
    """The opening tag that ends the prompt, with the white space after it; empty if there is none.

    The model then writes only the closing tag, so whoever shows its answer needs this one before it.
    """
    match = _OPENING.search(prompt)
    return match[0] if match else ""
