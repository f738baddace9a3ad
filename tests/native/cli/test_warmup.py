"""`warmup` on real llama.cpp, with a tiny synthetic model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.native.conftest import TinyModels
from tests.support.command_line import run_engine


@pytest.mark.parametrize("routing", ["exact", "resident"])
def test_measures_and_keeps_what_was_learned(tiny_models: TinyModels, tmp_path: Path, routing: str) -> None:
    words = (
        "warmup", str(tiny_models("qwen3moe")), "--prompt", "The experts of a layer", "--routing", routing,
        "--slots", "6", "--threads", "1", "--profile-dir", str(tmp_path / "profiles"), "--json",
    )  # fmt: skip
    printed = run_engine(*words)
    assert printed.code == 0
    document = json.loads(printed.out)
    assert document["before"]["bytes_read"] > 0
    assert document["after"]["hit_rate"] >= document["before"]["hit_rate"]
    assert document["warm_up"]["is_profile_saved"]
    assert len(list((tmp_path / "profiles").iterdir())) == 1
    first = document["before"]["prompt_tokens"]
    assert json.loads(run_engine(*words).out)["before"]["prompt_tokens"] == first
