"""The soak's files: small synthetic models of every kind and the demo model; stock's answers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.backends.base import CancelToken
from engine.backends.llama_cpp import LlamaCppBackend
from engine.backends.stock import StockModel
from engine.demo_model import DEMO_PATH
from engine.gguf.expert_layout import expert_layout
from engine.gguf.reader import read_model
from engine.native.context import ContextSettings
from tests.support.models import TINY_VARIANTS, tiny_model

SPOT_CONTEXT_TOKENS = 512
SPOT_TOKENS = 24  # greedy tokens of a spot check
UNITS = (3, 16, 64)


@dataclass(frozen=True, slots=True)
class Step:
    """Tokens evaluated together, and the logits of the last of them, shape (n_vocab,)."""

    is_prefill: bool
    tokens: tuple[int, ...]
    logits: NDArray[np.float32]


@dataclass(slots=True)
class SoakModel:
    """`references` by unit and layout of weights (repacked or not): the steps of stock llama.cpp with the
    prompt of a spot check."""

    name: str
    path: Path
    has_experts: bool
    references: dict[tuple[int, bool], tuple[Step, ...]] = field(default_factory=dict)

    def refer(self, prompt: tuple[int, ...]) -> None:
        """Let stock llama.cpp answer `prompt` greedily in every way; once, before the soak begins."""
        ways = itertools.product(UNITS, (False, True))
        self.references = {way: stock_steps(self.path, prompt, *way) for way in ways}


class RecordingBackend(LlamaCppBackend):
    """Our backend; while `record` is set, it keeps every step and re-uses no KV entry.

    Everything belongs to the engine thread, except that the soak sets and reads `steps` while that is idle.
    """

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] | None = None

    def keep_prefix(self, n_tokens: int) -> int:
        # from the first token on: stock's units begin there
        is_start = self.steps is not None and not self.steps
        return super().keep_prefix(0 if is_start else n_tokens)

    def evaluate(self, tokens: Sequence[int], position: int, is_prefill: bool, cancel: CancelToken) -> None:
        super().evaluate(tokens, position, is_prefill, cancel)
        if self.steps is not None:
            self.steps.append(Step(is_prefill, tuple(tokens), self.logits()))


def soak_models(directory: Path) -> list[SoakModel]:
    """All kinds, written into `directory`: mixed types, biases, shared experts, shards, a bigger one, a dense
    one, and the demo model, whose embedding is also its output."""
    paths = {name: tiny_model(name, directory) for name in TINY_VARIANTS}
    paths["bigger"] = tiny_model("qwen3moe", directory, n_layer=6, n_expert=48, n_embd=512, n_ff=256)
    paths["demo"] = DEMO_PATH
    return [
        SoakModel(name, path, bool(expert_layout(read_model(path)).layers)) for name, path in paths.items()
    ]


def stock_steps(path: Path, prompt: tuple[int, ...], unit: int, is_repacked: bool) -> tuple[Step, ...]:
    """Stock llama.cpp: the prompt unit by unit, then greedy tokens one by one."""
    stock = StockModel(path, ContextSettings(SPOT_CONTEXT_TOKENS, unit, 1), is_repacked)
    try:
        steps = [
            Step(True, prompt[start : start + unit], stock.evaluate(prompt[start : start + unit], start))
            for start in range(0, len(prompt), unit)
        ]
        for index in range(SPOT_TOKENS - 1):
            token = int(steps[-1].logits.argmax())
            steps.append(Step(False, (token,), stock.evaluate([token], len(prompt) + index)))
        return tuple(steps)
    finally:
        stock.close()


def prompt_of(steps: Sequence[Step]) -> tuple[int, ...]:
    """The tokens of the prompt."""
    return tuple(token for step in steps if step.is_prefill for token in step.tokens)


def difference(ours: Sequence[Step], stock: Sequence[Step]) -> str:
    """In words, where the first difference is; "" if ours are the same tokens and logits, bit for bit.

    Ours may end early (an end-of-text token), but not before the prompt does.
    """
    if prompt_of(ours) != prompt_of(stock) or len(ours) > len(stock):
        return f"another prompt, or {len(ours)} steps instead of {len(stock)}"
    for index, (a, b) in enumerate(zip(ours, stock, strict=False)):
        if a.tokens != b.tokens:
            return f"step {index}: tokens {a.tokens[:4]} instead of {b.tokens[:4]}"
        if not np.array_equal(a.logits.view(np.uint32), b.logits.view(np.uint32)):
            return f"step {index}: logits differ by up to {np.abs(a.logits - b.logits).max():.3g}"
    return ""
