"""`inspect` and `make-model`: figures by hand and by the independent gguf package."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from gguf import GGUFReader

from tests.support.command_line import run_engine
from tests.support.models import tiny_model

_EXPERT_BYTES = 3 * 256 * 128 // 32 * 18  # three projections in Q4_0: 18 bytes per 32 values


def test_inspect_json_tells_experts_and_bytes(tmp_path: Path) -> None:
    path = tiny_model("qwen3moe", tmp_path)
    printed = run_engine("inspect", str(path), "--json")
    facts = json.loads(printed.out)
    tensors = GGUFReader(path).tensors
    dense_bytes = sum(int(t.n_bytes) for t in tensors if "_exps" not in t.name)
    assert printed.code == 0
    assert (facts["architecture"], facts["n_expert"], facts["top_k"]) == ("qwen3moe", 16, 4)
    assert facts["moe_layers"] == [0, 1, 2, 3]
    assert facts["layer_expert_bytes"] == [_EXPERT_BYTES] * 4
    assert facts["all_experts_bytes"] == 4 * 16 * _EXPERT_BYTES
    assert facts["dense_bytes"] == dense_bytes
    assert facts["shards"] == [{"path": str(path), "size_bytes": path.stat().st_size, "alignment_bytes": 32}]
    assert sum(entry["tensors"] for entry in facts["types"]) == len(tensors)


def test_inspect_table_names_what_a_person_asks_for(tmp_path: Path) -> None:
    out = run_engine("inspect", str(tiny_model("sharded", tmp_path))).out
    rows = dict(line.split("  ", 1) for line in out.splitlines() if "  " in line and "|" not in line)
    rows = {name.strip(): value.strip() for name, value in rows.items()}
    assert rows["experts"] == "16 per layer, 4 used per token"
    assert rows["one expert"] == "54 KiB"
    assert rows["shards"] == "3"
    assert "sharded-00003-of-00003.gguf" in out


def test_inspect_says_when_a_model_is_dense(tmp_path: Path) -> None:
    assert "none (a dense model)" in run_engine("inspect", str(tiny_model("llama", tmp_path))).out


@pytest.mark.parametrize("layout", ["gemma4", "gemma3n"])
def test_inspect_counts_tables_that_stay_on_disk(tmp_path: Path, layout: str) -> None:
    path = tiny_model(layout, tmp_path, n_vocab=20_000)
    table = next(t for t in GGUFReader(path).tensors if t.name == "per_layer_token_embd.weight")
    assert int(table.n_bytes) == 20_000 * 4 * 256 // 32 * 34  # Q8_0: 34 bytes per 32 values
    facts = json.loads(run_engine("inspect", str(path), "--json").out)
    assert facts["row_tables"] == {
        "count": 1,
        "size_bytes": int(table.n_bytes),
        "stay_on_disk": True,
        "names": [table.name],
    }
    lines = [line for line in run_engine("inspect", str(path)).out.splitlines() if "row tables" in line]
    assert len(lines) == 1
    assert "1, 20.8 MiB: they stay on disk" in lines[0]


def test_inspect_is_silent_about_tables_where_there_are_none(tmp_path: Path) -> None:
    path = tiny_model("qwen3moe", tmp_path)
    facts = json.loads(run_engine("inspect", str(path), "--json").out)
    assert facts["row_tables"] == {"count": 0, "size_bytes": 0, "stay_on_disk": False, "names": []}
    assert "row tables" not in run_engine("inspect", str(path)).out


def test_make_model_writes_what_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "made.gguf"
    words = [
        "--layers",
        "3",
        "--experts",
        "6",
        "--top-k",
        "2",
        "--embd",
        "256",
        "--ff",
        "64",
        "--type",
        "q8_0",
        "--seed",
        "5",
        "--json",
    ]
    printed = run_engine("make-model", str(path), *words)
    made = json.loads(printed.out)
    tensors = {t.name: t for t in GGUFReader(path).tensors}
    gate = tensors["blk.2.ffn_gate_exps.weight"]
    assert printed.code == 0
    assert made == {"paths": [str(path)], "size_bytes": path.stat().st_size}
    assert "blk.3.ffn_gate_exps.weight" not in tensors
    assert ([int(n) for n in gate.shape], gate.tensor_type.name) == ([256, 64, 6], "Q8_0")


def test_make_model_never_replaces_a_file_unasked(tmp_path: Path) -> None:
    path = tmp_path / "precious.gguf"
    path.write_bytes(b"precious")
    words = (
        "make-model",
        str(path),
        *["--layers", "1", "--experts", "2", "--top-k", "1", "--embd", "256", "--ff", "64"],
    )
    refused = run_engine(*words)
    assert refused.code == 2
    assert "--force" in refused.err
    assert path.read_bytes() == b"precious"
    assert run_engine(*words, "--force").code == 0
    assert path.read_bytes()[:4] == b"GGUF"
