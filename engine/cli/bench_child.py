"""One measured process of `bench`: loads the model once, runs the three states, prints one JSON document.

Started by the parent, which has put it under the memory cap: `python -m engine.cli.bench_child TASK`.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.cli.bench_records import BenchTask, ChildReport, PassCosts, StatePass
from engine.cli.process_figures import block_bytes_read, peak_rss_bytes
from engine.errors import error_info

_BYTE_TOKENS = 256
Logits = NDArray[np.float32]


class Side(Protocol):
    """One way to run the model; loaded when made."""

    unit_tokens: int
    expert_bytes: int
    budget_bytes: int | None
    is_repacked: bool
    notes: tuple[str, ...]
    placement: dict[str, object]

    def evaluate(self, tokens: list[int], position: int, is_prefill: bool) -> Logits: ...

    def clear(self) -> None: ...

    def costs(self) -> PassCosts: ...

    def note_residency(self) -> None:
        """Remember which experts are in memory now."""

    def needed_bytes(self) -> int | None:
        """Of what was used since then and was not in memory then; None if this side can't tell."""

    def close(self) -> None: ...


def main(argv: list[str]) -> int:
    """Measure the task in argv[0]; the exit code is that of the fault, if there is one."""
    try:
        sys.stdout.write(measure(BenchTask.from_json(argv[0])).to_json() + "\n")
    except Exception as error:  # noqa: BLE001 - the parent tells it; nothing else may reach stdout
        info = error_info(error)
        sys.stdout.write(json.dumps({"type": "error", **asdict(info)}) + "\n")
        return info.exit_code
    return 0


def measure(task: BenchTask) -> ChildReport:
    """Load, then one pass per state; each starts from an empty KV cache."""
    load_side = _side_loader(task.side)  # its imports are not part of the load
    read_before, start_ns = block_bytes_read(), time.perf_counter_ns()
    side = load_side(task)
    load_ns = time.perf_counter_ns() - start_ns
    load_bytes = block_bytes_read() - read_before
    first, other = (prompt_of(task, task.seed + offset) for offset in (0, 1))
    try:
        passes = tuple(
            run_state(side, state, prompt, task.decode_tokens)
            for state, prompt in (("cold", first), ("warm-identical", first), ("rotating", other))
            if state in task.states
        )
    finally:
        side.close()
    return ChildReport(
        side=task.side,
        unit_tokens=side.unit_tokens,
        load_ns=load_ns,
        load_bytes_read=load_bytes,
        expert_bytes=side.expert_bytes,
        budget_bytes=side.budget_bytes,
        is_repacked=side.is_repacked,
        passes=passes,
        notes=side.notes,
        placement=side.placement,
    )


def _side_loader(name: str) -> Callable[[BenchTask], Side]:
    module = importlib.import_module(f"engine.cli.bench_{name}")
    loader: Callable[[BenchTask], Side] = module.BenchSide
    return loader


def prompt_of(task: BenchTask, seed: int) -> list[int]:
    """Random tokens: bytes in a byte vocabulary, otherwise anything above them. Same seed, same prompt."""
    low, high = (0, _BYTE_TOKENS) if task.n_vocab <= 2 * _BYTE_TOKENS else (_BYTE_TOKENS, task.n_vocab)
    return [int(token) for token in np.random.default_rng(seed).integers(low, high, task.prompt_tokens)]


def run_state(side: Side, state: str, prompt: list[int], n_decode: int) -> StatePass:
    """Prefill, then greedy decoding, so that both sides take the same tokens; digests are not timed."""
    side.clear()
    side.note_residency()
    before = side.costs()
    start_ns = time.perf_counter_ns()
    logits = side.evaluate(prompt, 0, True)
    prefill_ns = time.perf_counter_ns() - start_ns
    prefill_costs, needed_bytes = side.costs().since(before), side.needed_bytes()
    digests, steps = [_digest(logits)], []
    for index in range(n_decode):
        start_ns = time.perf_counter_ns()
        logits = side.evaluate([int(logits.argmax())], len(prompt) + index, False)
        steps.append(time.perf_counter_ns() - start_ns)
        digests.append(_digest(logits))
    return StatePass(
        state=state,
        prompt_tokens=len(prompt),
        prefill_ns=prefill_ns,
        step_ns=tuple(steps),
        logits=tuple(digests),
        costs=side.costs().since(before),
        prefill_costs=prefill_costs,
        needed_bytes=needed_bytes,
        peak_rss_bytes=peak_rss_bytes(),
    )


def _digest(logits: Logits) -> str:
    return hashlib.sha256(logits.tobytes()).hexdigest()[:32]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
