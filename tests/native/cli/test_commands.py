"""The commands on real llama.cpp, with tiny synthetic models."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from engine.cli.memory_cap import capped_group
from tests.native.conftest import TinyModels
from tests.support.command_line import run_engine


def test_chat_answers_repeatably(tiny_models: TinyModels) -> None:
    path = str(tiny_models("qwen3moe"))
    words = ("chat", path, "--prompt", "Hello", "--max-tokens", "6", "--ctx", "256", "--seed", "3", "--json")
    first, again = run_engine(*words), run_engine(*words)
    last = first.lines[-1]
    assert (first.code, last["type"]) == (0, "generation_finished")
    assert last["usage"]["completion_tokens"] == 6
    assert last["usage"]["prompt_tokens"] > len("Hello")
    assert last["ttft"]["prefill_ns"] > 0
    assert last["text"] == again.lines[-1]["text"]
    loaded = next(line["info"] for line in first.lines if line["type"] == "model_loaded")
    assert (loaded["n_expert"], loaded["top_k"], loaded["context_tokens"]) == (16, 4, 256)


def test_turns_of_a_session_re_use_the_cache(tiny_models: TinyModels) -> None:
    path = str(tiny_models("qwen3moe"))
    lines = run_engine("chat", path, "--max-tokens", "3", "--json", typed="one\ntwo\n").lines
    first, second = (line for line in lines if line["type"] == "generation_started")
    assert first["cached_tokens"] == 0
    assert second["cached_tokens"] > 0


@pytest.mark.parametrize("content", [None, b"", b"GGUF", b"not a model" * 1000])
def test_chat_refuses_wrong_files_by_name(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "wrong.gguf"
    if content is not None:
        path.write_bytes(content)
    printed = run_engine("chat", str(path), "--prompt", "Hello")
    assert printed.code == 2
    assert printed.out == ""
    assert "error: " in printed.err
    assert "wrong.gguf" in printed.err


def test_a_budget_that_is_too_small_names_what_is_needed(tiny_models: TinyModels) -> None:
    printed = run_engine("chat", str(tiny_models("qwen3moe")), "--prompt", "x", "--ram", "1MiB", "--json")
    assert printed.code == 2
    assert printed.lines[-1]["kind"] == "BudgetError"


@pytest.mark.parametrize("layout", ["qwen3moe", "mixed", "llama"])
def test_bench_computes_what_stock_computes(tiny_models: TinyModels, layout: str) -> None:
    words = ("--compare", "stock", "--unit", "3,auto", "--prompt-tokens", "20", "--decode-tokens", "5")
    more = ("--stock-decode-tokens", "3", "--threads", "2", "--json")
    printed = run_engine("bench", str(tiny_models(layout)), *words, *more)
    document = json.loads(printed.out)
    assert printed.code == 0
    assert document["identical_logits"] is True
    assert [(row["requested_unit"], row["decode_tokens"]) for row in document["stock"]] == [(3, 3)] * 3 + [
        ("auto", 3)
    ] * 3
    assert all(row["prefill_tokens_per_second"] > 0 for row in document["rows"] + document["stock"])
    assert all(value > 0 for value in document["ratios"].values())


def test_cold_bench_reads_each_missing_expert_about_once(tiny_models: TinyModels) -> None:
    words = ("--prompt-tokens", "30", "--decode-tokens", "4", "--threads", "1", "--json")
    document = json.loads(run_engine("bench", str(tiny_models("qwen3moe")), *words).out)
    cold, warm, _ = document["rows"]
    assert 0 < cold["disk_share"] <= 1
    assert cold["bytes_read"] > 0
    # 18 KiB slices are read as up to six pages each
    assert 1 <= cold["read_amplification"] <= 6 * 4096 / 18432 + 0.01
    assert (warm["disk_share"], warm["bytes_read"], warm["disk_wait_ns"]) == (0, 0, 0)
    assert warm["load_seconds"] is None
    assert document["limit_ratio"] > 0
    (slots,) = document["placement"]["slot_classes"]
    assert (slots["n_expert"], slots["slots"], slots["hot_per_layer"]) == (16, 4 * 16, 5)
    assert document["placement"]["devices"] == []
    assert document["drive_bytes_per_second"] > 0


@pytest.mark.parametrize("unit", ["1", "16"])
def test_resident_routing_reads_for_at_most_one_of_top_k_picks(tiny_models: TinyModels, unit: str) -> None:
    words = ("--prompt-tokens", "8", "--decode-tokens", "3", "--unit", unit, "--threads", "1", "--no-limit")
    path = str(tiny_models("qwen3moe", n_expert=64))
    shares = {}
    for routing in ("exact", "resident"):
        # pools that learn elect other members after the first prompt, which then have to be read
        more = ("--routing", routing, "--slots", "4", "--pool", "fixed", "--json")
        cold, warm, _ = json.loads(run_engine("bench", path, *words, *more).out)["rows"]
        shares[routing] = cold["disk_share_of_picks"]
    assert 0 < shares["resident"] <= 1 / 4 < shares["exact"] <= 1
    assert (warm["disk_share"], warm["disk_wait_ns"], warm["bytes_read"]) == (0, 0, 0)


def test_bench_tells_the_fault_of_its_child(tiny_models: TinyModels) -> None:
    printed = run_engine("bench", str(tiny_models("qwen3moe")), "--ram", "1MiB", "--json")
    assert printed.code == 2
    assert json.loads(printed.out)["kind"] == "BudgetError"


_HOLD = "import sys; held = bytearray(int(sys.argv[1])); held[::4096] = b'x' * len(held[::4096]); print('ok')"


def test_the_kernel_enforces_the_cap() -> None:
    with capped_group(200 << 20) as group:
        if group.folder is None:
            pytest.skip(group.refusal)
        codes = [
            subprocess.run(
                group.wrap([sys.executable, "-c", _HOLD, str(size_bytes)]),
                capture_output=True, timeout=60, check=False,
            ).returncode
            for size_bytes in (50 << 20, 400 << 20)
        ]  # fmt: skip
        peak_bytes = group.peak_bytes()
        folder = group.folder
    assert codes == [0, -9]
    assert peak_bytes is not None
    assert 50 << 20 < peak_bytes <= 200 << 20
    assert not folder.exists()


def test_a_child_that_outgrows_the_cap_is_named(tiny_models: TinyModels) -> None:
    with capped_group(1 << 30) as group:
        if group.folder is None:
            pytest.skip(group.refusal)
    printed = run_engine("bench", str(tiny_models("qwen3moe")), "--cap", "16MiB", "--ram", "15MiB")
    assert printed.code in (1, 2)
    assert "error: " in printed.err
    assert "Traceback" not in printed.err
