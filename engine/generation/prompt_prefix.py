"""How much of a new prompt is already in the KV cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LEAST_SHARED_TOKENS = 16


@dataclass(frozen=True, slots=True)
class PromptSplit:
    """The first `keep` tokens of the prompt are cached; `new_tokens` (never empty) must be evaluated."""

    keep: int
    new_tokens: tuple[int, ...]


def split_prompt(cached: Sequence[int], prompt: Sequence[int]) -> PromptSplit:
    """Split a prompt of at least one token after its longest prefix that `cached` shares.

    The last token always counts as new: only evaluating it gives the logits of the first answer token.
    A few tokens shared with another conversation are not re-used: it would save nothing, and the rest of the
    prompt, evaluated in another batch, would be rounded otherwise, so that the same first question got other
    answers.
    """
    limit = min(len(cached), len(prompt) - 1)
    keep = next((i for i in range(limit) if cached[i] != prompt[i]), limit)
    if keep < min(LEAST_SHARED_TOKENS, limit):
        keep = 0
    return PromptSplit(keep, tuple(prompt[keep:]))
