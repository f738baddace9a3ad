"""Fully resident speed against stock llama.cpp, interleaved token by token in one process.

    python -m tests.support.measure_resident MODEL [--repack] [--rounds 8] [--prompt-tokens 64]

Both without repacked weights, or both with (`--repack`). Both models are loaded whole (twice the file in
memory). Prints one JSON document with medians and ratios (ours over stock, above 1 is better); the first
round, which reads the experts, is left out. Logits must be bit-identical.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from engine.backends.base import CancelToken
from engine.backends.llama_cpp import LlamaCppBackend
from engine.backends.stock import StockModel
from engine.config import LoadSettings, Repack
from engine.native.context import ContextSettings
from tests.support.exact_runs import prompt_tokens

CONTEXT_TOKENS = 1024


def timed(times: list[float], work: Callable[[], object]) -> None:
    """Run and append the seconds it took."""
    started = time.perf_counter()
    work()
    times.append(time.perf_counter() - started)


class Pair:
    """Both sides of the comparison and their times in seconds."""

    def __init__(self, path: Path, threads: int, is_repacked: bool) -> None:
        self.token = CancelToken()
        self.ours = LlamaCppBackend()
        repack = Repack.ON if is_repacked else Repack.OFF
        settings = LoadSettings(path, context_tokens=CONTEXT_TOKENS, threads=threads, repack=repack)
        info = self.ours.load(settings, lambda _: None, self.token).info
        if any(c.slots < len(c.layers) * c.n_expert for c in info.slot_classes):
            sys.exit("The experts don't all fit into memory, so nothing here would be resident.")
        context = ContextSettings(CONTEXT_TOKENS, info.unit_tokens, threads)
        self.stock = StockModel(path, context, is_repacked)
        self.times: dict[str, list[float]] = {
            f"{s}_{p}": [] for s in ("ours", "stock") for p in ("prefill", "decode")
        }

    def round(self, prompt: list[int], n_decode: int) -> None:
        """One prompt and its decoding on both sides, alternating."""
        self.ours.keep_prefix(0)
        self.stock.clear()
        timed(self.times["ours_prefill"], lambda: self.ours.evaluate(prompt, 0, True, self.token))
        logits = []
        timed(self.times["stock_prefill"], lambda: logits.append(self.stock.evaluate(prompt, 0)))
        for index in range(n_decode):
            assert np.array_equal(self.ours.logits(), logits[-1]), "logits differ"
            token, position = [int(logits[-1].argmax())], len(prompt) + index
            timed(self.times["ours_decode"], lambda: self.ours.evaluate(token, position, False, self.token))  # noqa: B023 - called at once
            timed(self.times["stock_decode"], lambda: logits.append(self.stock.evaluate(token, position)))  # noqa: B023 - called at once


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--prompt-tokens", type=int, default=64)
    parser.add_argument("--decode-tokens", type=int, default=16)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repack", action="store_true")
    options = parser.parse_args()
    pair = Pair(options.model, options.threads, options.repack)
    prompt = prompt_tokens(options.prompt_tokens)
    pair.round(prompt, options.decode_tokens)
    for times in pair.times.values():
        times.clear()
    for _ in range(options.rounds):
        pair.round(prompt, options.decode_tokens)
    medians = {name: statistics.median(times) for name, times in pair.times.items()}
    figures = {f"{name}_ms": round(seconds * 1e3, 2) for name, seconds in medians.items()}
    for phase in ("prefill", "decode"):
        figures[f"{phase}_ratio"] = round(medians[f"stock_{phase}"] / medians[f"ours_{phase}"], 3)
    sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()
