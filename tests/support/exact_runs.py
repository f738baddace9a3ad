"""The same greedy run on our backend and on stock llama.cpp, as arrays of logits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.backends.base import CancelToken
from engine.backends.llama_cpp import LlamaCppBackend
from engine.backends.stock import StockModel
from engine.config import LoadSettings, Repack
from engine.model_facts import ModelInfo
from engine.native.context import ContextSettings

CONTEXT_TOKENS = 256
# one of every kind of expert layer that slots know
MOE_VARIANTS = (
    "qwen3moe", "qwen2moe", "deepseek2", "deepseek2-merged", "gpt-oss", "gpt-oss-mxfp4", "mixed", "uneven",
    "sharded",
)  # fmt: skip
Logits = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Run:
    """`steps[0]` are the prompt's last logits, then one per decoded token."""

    steps: tuple[Logits, ...]
    info: ModelInfo | None = None


def prompt_tokens(count: int, seed: int = 1) -> list[int]:
    """Random byte tokens, which every synthetic vocabulary has."""
    return [int(t) for t in np.random.default_rng(seed).integers(0, 256, count)]


@contextmanager
def loaded(settings: LoadSettings) -> Iterator[tuple[LlamaCppBackend, ModelInfo]]:
    """A loaded backend, unloaded afterwards."""
    backend = LlamaCppBackend()
    try:
        yield backend, backend.load(settings, lambda _: None, CancelToken()).info
    finally:
        backend.unload()


def run_ours(backend: LlamaCppBackend, prompt: list[int], n_decode: int) -> tuple[Logits, ...]:
    """Prefill from an empty cache, then greedy decoding."""
    token = CancelToken()
    backend.keep_prefix(0)
    backend.evaluate(prompt, 0, True, token)
    steps = [backend.logits()]
    for index in range(n_decode):
        backend.evaluate([int(steps[-1].argmax())], len(prompt) + index, False, token)
        steps.append(backend.logits())
    return tuple(steps)


@cache
def run_stock(
    path: Path,
    unit_tokens: int,
    threads: int,
    n_prompt: int,
    n_decode: int,
    seed: int,
    is_repacked: bool = False,
) -> Run:
    """The reference, computed once per session for equal arguments."""
    model = StockModel(path, ContextSettings(CONTEXT_TOKENS, unit_tokens, threads), is_repacked)
    try:
        prompt = prompt_tokens(n_prompt, seed)
        steps = [model.evaluate(prompt, 0)]
        for index in range(n_decode):
            steps.append(model.evaluate([int(steps[-1].argmax())], n_prompt + index))
        return Run(tuple(steps))
    finally:
        model.close()


def settings_for(
    path: Path,
    slots: int | None,
    unit: int | None,
    threads: int = 2,
    is_prefetch_on: bool = True,
    repack: Repack = Repack.OFF,
) -> LoadSettings:
    """Load settings of a test run; not repacked, as `run_stock` is not."""
    return LoadSettings(
        path,
        context_tokens=CONTEXT_TOKENS,
        unit_tokens=unit,
        threads=threads,
        is_prefetch_on=is_prefetch_on,
        slots_per_class=slots,
        repack=repack,
    )


def assert_identical(ours: tuple[Logits, ...], stock: tuple[Logits, ...]) -> None:
    """Bit for bit, step for step."""
    assert len(ours) == len(stock)
    for step, (a, b) in enumerate(zip(ours, stock, strict=True)):
        assert np.array_equal(a.view(np.uint32), b.view(np.uint32)), f"step {step} differs"
