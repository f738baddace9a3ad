"""One prompt again and again with resident routing and pools that learn: what is still read for it.

    python -m tests.support.measure_learning MODEL [--ram 2.3GiB] [--runs 5] [--prompt-tokens 64]

Each time the prompt is answered for some tokens (`--answer`), after which pools are elected anew. Prints one
JSON line per run: share of the router's picks that the drive served, milliseconds waited for it, gate mass
lost.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from engine.backends.base import CancelToken
from engine.backends.llama_cpp import LlamaCppBackend
from engine.config import LoadSettings, Routing, parse_size_bytes
from engine.events import Counters
from engine.placement.routing_policy import RoutingCost
from tests.support.exact_runs import prompt_tokens

_CONTEXT_TOKENS = 1024


def prompt_figures(before: Counters, after: Counters) -> dict[str, float]:
    """Of one prompt; the drive's share counts what a layer had to wait for."""
    cost = RoutingCost(
        after.ranks_routed - before.ranks_routed,
        after.ranks_replaced - before.ranks_replaced,
        after.gate_mass_wanted - before.gate_mass_wanted,
        after.gate_mass_used - before.gate_mass_used,
    )
    from_disk = after.requests_by_tier["disk"] - before.requests_by_tier["disk"]
    waited_ns = after.disk_wait_prefill_ns - before.disk_wait_prefill_ns
    return {
        "disk_share_of_picks": round(from_disk / cost.ranks, 5),
        "disk_wait_ms": round(waited_ns / 1e6, 1),
        "gate_mass_lost": round(cost.gate_mass_lost, 3),
    }


def run_once(backend: LlamaCppBackend, prompt: list[int], n_answer: int) -> dict[str, float]:
    """The prompt from an empty cache, and a greedy answer."""
    token, before = CancelToken(), backend.counters()
    backend.keep_prefix(0)
    backend.evaluate(prompt, 0, True, token)
    figures = prompt_figures(before, backend.counters())
    for position in range(len(prompt), len(prompt) + n_answer):
        backend.evaluate([int(backend.logits().argmax())], position, False, token)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--ram", type=parse_size_bytes)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--prompt-tokens", type=int, default=64)
    parser.add_argument("--answer", type=int, default=16)
    arguments = parser.parse_args()
    backend = LlamaCppBackend()
    settings = LoadSettings(
        arguments.model,
        ram_budget_bytes=arguments.ram,
        context_tokens=_CONTEXT_TOKENS,
        routing=Routing.RESIDENT,
    )
    backend.load(settings, lambda _: None, CancelToken())
    try:
        prompt = prompt_tokens(arguments.prompt_tokens)
        for run in range(arguments.runs):
            figures = run_once(backend, prompt, arguments.answer)
            sys.stdout.write(json.dumps({"run": run + 1, **figures}) + "\n")
    finally:
        backend.unload()


if __name__ == "__main__":
    main()
