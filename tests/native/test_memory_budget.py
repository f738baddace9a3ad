"""The memory budget is a hard cap on the resident memory of the process, its own part included."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from engine.config import MIB
from engine.errors import BudgetError
from engine.hardware.memory import resident_bytes
from tests.native.conftest import TinyModels
from tests.support.exact_runs import (
    assert_identical,
    loaded,
    prompt_tokens,
    run_ours,
    run_stock,
    settings_for,
)

BUDGET_BYTES = 300 * MIB
_CHILD = """
import json, sys
from pathlib import Path
from engine.backends.base import CancelToken
from engine.backends.llama_cpp import LlamaCppBackend
from engine.config import LoadSettings

backend, token = LlamaCppBackend(), CancelToken()
settings = LoadSettings(Path(sys.argv[1]), ram_budget_bytes=int(sys.argv[2]), context_tokens=512)
info = backend.load(settings, lambda _: None, token).info
for seed in range(3):
    backend.keep_prefix(0)
    backend.evaluate([(7 * i + seed) % 256 for i in range(200)], 0, True, token)
    for step in range(5):
        backend.evaluate([int(backend.logits().argmax())], 200 + step, False, token)
counters = backend.counters()
backend.unload()
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({
    "peak_bytes": int(peak.split()[1]) * 1024,
    "slots": info.slot_classes[0].slots,
    "slots_bytes": info.slots_bytes,
    "planned_bytes": info.dense_bytes + info.kv_bytes + info.compute_bytes + info.slots_bytes,
    "used_bytes": info.used_bytes,
    "evictions": counters.evictions,
    "row_table_bytes": info.row_table_bytes,
    "row_bytes": counters.bytes_by_reason.get("row", 0),
}))
"""


def test_near_the_least_budget_the_unit_is_what_its_own_context_allows(tiny_models: TinyModels) -> None:
    """A small unit's context is small, so its slots are counted beside that and not beside the largest's.

    And a unit is never larger than the context that was made takes.
    """
    path = tiny_models("qwen3moe", n_expert=64, n_ff=256)
    units = []
    for extra_mib in range(20, 150, 2):  # what freed memory gives back decides where the least is
        budget = resident_bytes() + extra_mib * MIB
        settings = replace(settings_for(path, None, None, threads=1), ram_budget_bytes=budget)
        with suppress(BudgetError), loaded(settings) as (backend, info):
            units.append(info.unit_tokens)
            assert min(64, 4 * info.unit_tokens) <= info.slot_classes[0].slots
            assert info.used_bytes <= budget
            ours = run_ours(backend, prompt_tokens(40), 1)
            assert_identical(ours, run_stock(path, info.unit_tokens, 1, 40, 1, 1).steps)
    assert units[0] < 64, "the budgets begin at the least"
    assert max(units[:10]) >= 64, "18 MiB above it are 130 slots of 146 KiB: more than all 64 of a layer"


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="peak memory is read from /proc"
)


def _run(path: Path) -> dict[str, int]:
    output = subprocess.run(
        [sys.executable, "-c", _CHILD, str(path), str(BUDGET_BYTES)],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2],
    ).stdout  # fmt: skip
    facts: dict[str, int] = json.loads(output)
    return facts


@needs_proc
def test_peak_memory_stays_under_the_budget(tiny_models: TinyModels) -> None:
    # 170 MB of experts: they don't fit beside the program, so slots are recycled
    facts = _run(tiny_models("qwen3moe", n_layer=6, n_expert=64, n_embd=512, n_ff=512))
    assert facts["peak_bytes"] <= BUDGET_BYTES
    assert 64 <= facts["slots"] < 6 * 64
    assert facts["evictions"] > 0
    assert facts["peak_bytes"] > 0.7 * BUDGET_BYTES  # and the budget is used
    # what was planned beside the program, and the program, which is some 50 MiB
    assert facts["planned_bytes"] < facts["used_bytes"] <= BUDGET_BYTES
    assert facts["used_bytes"] - facts["planned_bytes"] < 120 * MIB


@needs_proc
def test_a_table_of_rows_may_be_larger_than_the_budget(tiny_models: TinyModels) -> None:
    path = tiny_models("gemma4", n_layer=2, n_vocab=40_000, embd_per_layer=4096)
    facts = _run(path)
    assert facts["row_table_bytes"] > BUDGET_BYTES
    assert facts["used_bytes"] <= BUDGET_BYTES
    assert facts["peak_bytes"] <= BUDGET_BYTES
    assert 0 < facts["row_bytes"] < BUDGET_BYTES // 10
