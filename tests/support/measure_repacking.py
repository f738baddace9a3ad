"""What repacked slots cost and give in decoding, at several shares of the experts in memory.

    python -m tests.support.measure_repacking MODEL [--shares 0.3,0.55,0.8] [--tokens 48] [--threads 2]

Two of our backends in one process, with and without, take the same random tokens in turn, each warm from a
prompt. Prints one JSON line per share with mean milliseconds per token, megabytes read per token, and the
ratio (plain over repacked, above 1: repacking pays). First a line: the processor seconds per gigabyte that
rewriting the model's experts costs, from memory that is in no cache.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

from engine.backends.base import CancelToken
from engine.backends.llama_cpp import LlamaCppBackend
from engine.config import LoadSettings, Repack
from engine.gguf.expert_layout import ExpertLayout, expert_layout
from engine.gguf.reader import read_model
from engine.gguf.tensor_types import type_number
from engine.native.memory import HugeBuffer
from engine.native.model import initialise
from engine.native.repack import repacked_form
from tests.support.exact_runs import prompt_tokens

_CONTEXT_TOKENS, _PROMPT_TOKENS = 1024, 128
_SAMPLE_BYTES = 256 << 20


class Side:
    """One backend and the seconds of its tokens."""

    def __init__(self, path: Path, slots: int, threads: int, repack: Repack) -> None:
        self.token, self.backend = CancelToken(), LlamaCppBackend()
        settings = LoadSettings(
            path, context_tokens=_CONTEXT_TOKENS, threads=threads, slots_per_class=slots, repack=repack
        )
        self.backend.load(settings, lambda _: None, self.token)
        self.backend.evaluate(prompt_tokens(_PROMPT_TOKENS), 0, True, self.token)
        self.read_before = self.backend.counters().bytes_read
        self.seconds: list[float] = []

    def decode(self, token: int, position: int) -> None:
        started = time.perf_counter()
        self.backend.evaluate([token], position, False, self.token)
        self.seconds.append(time.perf_counter() - started)

    def megabytes_per_token(self) -> float:
        return (self.backend.counters().bytes_read - self.read_before) / len(self.seconds) / 1e6


def measure_share(path: Path, layout: ExpertLayout, share: float, options: argparse.Namespace) -> None:
    """Both sides in turn; one line."""
    slots = int(share * sum(layer.n_expert for layer in layout.layers))
    sides = {repack: Side(path, slots, options.threads, repack) for repack in (Repack.OFF, Repack.ON)}
    for index, token in enumerate(prompt_tokens(options.tokens, seed=7)):
        for side in sides.values():
            side.decode(token, _PROMPT_TOKENS + index)
    plain, repacked = (statistics.mean(side.seconds) for side in sides.values())
    figures = {
        "share": share,
        "plain_ms": round(plain * 1e3, 2),
        "repacked_ms": round(repacked * 1e3, 2),
        "ratio": round(plain / repacked, 3),
        "read_megabytes_per_token": [round(side.megabytes_per_token(), 1) for side in sides.values()],
    }
    sys.stdout.write(json.dumps(figures) + "\n")
    for side in sides.values():
        side.backend.unload()


def measure_rewriting(layout: ExpertLayout) -> None:
    """Seconds per gigabyte of each kind of slice; one line."""
    initialise()
    found = {}
    for weight in layout.layers[0].weights:
        form = repacked_form(type_number(weight.tensor.type_name), *weight.tensor.shape[:2])
        if form is None:
            continue
        count = _SAMPLE_BYTES // form.size_bytes
        source, target = (HugeBuffer(count * form.size_bytes) for _ in range(2))
        for buffer in (source, target):
            buffer.populate(0, buffer.size_bytes)
        started = time.thread_time()
        for index in range(count):
            form.fill(target.address + index * form.size_bytes, source.address + index * form.size_bytes)
        seconds = time.thread_time() - started
        found[f"{weight.tensor.type_name} {weight.projection}"] = round(seconds / source.size_bytes * 1e9, 3)
        source.close()
        target.close()
    sys.stdout.write(json.dumps({"rewriting_seconds_per_gigabyte": found}) + "\n")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--shares", default="0.3,0.55,0.8")
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    layout = expert_layout(read_model(options.model))
    measure_rewriting(layout)
    for share in options.shares.split(","):
        measure_share(options.model, layout, float(share), options)


if __name__ == "__main__":
    main()
