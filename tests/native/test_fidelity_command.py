"""`fidelity` on real llama.cpp: nothing is lost with every expert in the pool, something with few."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.native.conftest import TinyModels
from tests.support.command_line import run_engine

_TEXT = (
    "An expert is one of many small networks in a layer; a router sends a token to only a few of them. " * 2
)


@pytest.fixture
def text_file(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(_TEXT, encoding="utf-8")
    return path


def test_the_table_of_pool_sizes(tiny_models: TinyModels, text_file: Path) -> None:
    model = str(tiny_models("qwen3moe"))
    printed = run_engine(
        "fidelity", model, "--text", str(text_file), "--slots", "16,5", "--tokens", "40",
        "--generate", "60", "--seeds", "1,2", "--threads", "2", "--json",
    )  # fmt: skip
    assert printed.code == 0
    every, few = json.loads(printed.out)["rows"]
    assert (every["slots"], every["tokens"], every["generations"]) == (16, 40, 2)
    assert (every["kl_mean"], every["top1_agreement"], every["sets_changed_share"]) == (0, 1, 0)
    assert (every["ranks_replaced_share"], every["gate_mass_lost"]) == (0, pytest.approx(0, abs=1e-6))
    assert few["kl_mean"] > 0
    assert few["sets_changed_share"] > 0.5  # 5 of 16 experts, top-4, four layers
    assert 0 < few["ranks_replaced_share"] <= 3 / 4  # rank 0 is never replaced
    assert 0 < few["gate_mass_lost"] < 1


def test_a_text_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    printed = run_engine("fidelity", "x.gguf", "--text", str(tmp_path / "absent"))
    assert printed.code == 2
    assert "can't be read" in printed.err
