from __future__ import annotations

import pytest

from engine.generation.prompt_prefix import PromptSplit, split_prompt


@pytest.mark.parametrize(
    ("cached", "prompt", "keep", "new"),
    [
        ([], [1, 2, 3], 0, (1, 2, 3)),
        ([1, 2], [1, 2, 3, 4], 2, (3, 4)),
        ([1, 2, 9, 9], [1, 2, 3], 2, (3,)),
        ([1, 2, 3], [1, 2, 3], 2, (3,)),  # the last token is evaluated again for its logits
        ([1, 2, 3, 4], [1, 2, 3], 2, (3,)),
        ([1], [1], 0, (1,)),
        ([5, 2, 3], [1, 2, 3], 0, (1, 2, 3)),
    ],
)
def test_split(cached: list[int], prompt: list[int], keep: int, new: tuple[int, ...]) -> None:
    assert split_prompt(cached, prompt) == PromptSplit(keep, new)


@pytest.mark.parametrize(("shared", "keep"), [(3, 0), (15, 0), (16, 16), (30, 30)])
def test_a_few_tokens_shared_with_another_conversation_are_not_reused(shared: int, keep: int) -> None:
    cached = [7] * shared + [1] * 40
    prompt = [7] * shared + [2] * 40
    assert split_prompt(cached, prompt).keep == keep
