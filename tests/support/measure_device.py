"""Speed with experts on a device, against stock llama.cpp with all layers there and its experts in RAM.

    python -m tests.support.measure_device MODEL [--ram 2.5GiB] [--vram 1GiB] [--hot N] [--rounds 3]

The device is a server in a process of its own on loopback, one for each side; stock runs the usual way for a
model that is larger than the device (--n-cpu-moe). Both sides take turns. Prints one JSON document: medians
per state, and of ours what it waited for.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from engine.backends.base import CancelToken
from engine.backends.llama_cpp import LlamaCppBackend
from engine.backends.stock import StockModel
from engine.cli.arguments import size_bytes
from engine.config import LoadSettings
from engine.events import Counters
from engine.native.context import ContextSettings
from engine.native.device_share import DeviceShare
from engine.native.devices import DeviceSet
from tests.support.device_server import serving_device
from tests.support.exact_runs import prompt_tokens

CONTEXT_TOKENS, ALL_LAYERS = 1024, 999
Figures = dict[str, list[float]]


class Measurement:
    """Both sides; `figures[side + state + what]` collects one number per run."""

    def __init__(self, options: argparse.Namespace, stack: ExitStack) -> None:
        self.n_prompt, self.n_decode = options.prompt_tokens, options.decode_tokens
        self.token, self.figures = CancelToken(), defaultdict[str, list[float]](list)
        ours, theirs = stack.enter_context(serving_device()), stack.enter_context(serving_device())
        settings = LoadSettings(
            options.model, options.ram, CONTEXT_TOKENS, options.unit, options.threads,
            hot_per_layer=options.hot, devices=(ours.name,), vram_budget_bytes=options.vram,
        )  # fmt: skip
        self.backend = LlamaCppBackend()
        stack.callback(self.backend.unload)
        self.info = self.backend.load(settings, lambda _: None, self.token).info
        devices = DeviceSet([theirs.name])
        stack.callback(devices.close)
        context = ContextSettings(CONTEXT_TOKENS, self.info.unit_tokens, options.threads)
        share = DeviceShare(tuple(devices.devices), (ALL_LAYERS,))
        self.stock = StockModel(options.model, context, share=share, are_experts_in_ram=True)
        stack.callback(self.stock.close)

    def run(self, state: str, seed: int) -> None:
        """One prompt and its decoding on each side."""
        prompt = prompt_tokens(self.n_prompt, seed)
        before = self.backend.counters()
        self.backend.keep_prefix(0)
        self._time("ours", state, prompt, self._ours)
        self._count(state, before, self.backend.counters())
        self.stock.clear()
        self._time("stock", state, prompt, self._theirs)

    def _ours(self, tokens: list[int], position: int) -> int:
        self.backend.evaluate(tokens, position, len(tokens) > 1, self.token)
        return int(self.backend.logits().argmax())

    def _theirs(self, tokens: list[int], position: int) -> int:
        return int(self.stock.evaluate(tokens, position).argmax())

    def _time(
        self, side: str, state: str, prompt: list[int], evaluate: Callable[[list[int], int], int]
    ) -> None:
        started = time.perf_counter()
        token = evaluate(prompt, 0)
        read = time.perf_counter()
        for index in range(self.n_decode):
            token = evaluate([token], self.n_prompt + index)
        ended = time.perf_counter()
        self.figures[f"{side} {state} prefill_tokens_per_second"].append(self.n_prompt / (read - started))
        self.figures[f"{side} {state} decode_tokens_per_second"].append(self.n_decode / (ended - read))

    def _count(self, state: str, before: Counters, after: Counters) -> None:
        for what in ("disk_wait_ns", "transfer_wait_ns", "transfer_busy_ns", "bytes_read"):
            self.figures[f"ours {state} {what}"].append(getattr(after, what) - getattr(before, what))
        over = sum(after.bytes_by_link.values()) - sum(before.bytes_by_link.values())
        self.figures[f"ours {state} bytes_over_link"].append(over)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--ram", type=size_bytes)
    parser.add_argument("--vram", type=size_bytes)
    parser.add_argument("--hot", type=int)
    parser.add_argument("--unit", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--prompt-tokens", type=int, default=64)
    parser.add_argument("--decode-tokens", type=int, default=16)
    options = parser.parse_args()
    with ExitStack() as stack:
        measurement = Measurement(options, stack)
        measurement.run("cold", 1)
        for index in range(options.rounds):
            measurement.run("warm-identical", 1)
            measurement.run("rotating", 2 + index)
            measurement.run("between", 1)  # so that “identical” follows itself
        document = {name: statistics.median(values) for name, values in measurement.figures.items()}
        (device,) = measurement.info.devices
        document |= {"link_bytes_per_second": device.link_bytes_per_second or 0.0}
        document |= {"device_bytes": device.used_bytes, "expert_layers_on_device": len(device.layers)}
    sys.stdout.write(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
