"""The same model has the same fingerprint wherever it lies; another model never has."""

from __future__ import annotations

import shutil
from pathlib import Path

from engine.gguf.fingerprint import model_fingerprint
from engine.gguf.reader import read_model
from tests.support.models import tiny_model


def fingerprint(path: Path) -> str:
    return model_fingerprint(read_model(path))


def test_the_path_does_not_matter(tmp_path: Path) -> None:
    path = tiny_model("qwen3moe", tmp_path)
    copy = shutil.copy(path, tmp_path / "another name.gguf")
    assert fingerprint(Path(copy)) == fingerprint(path)


def test_shapes_types_and_layouts_matter(tmp_path: Path) -> None:
    paths = [
        tiny_model("qwen3moe", tmp_path),
        tiny_model("qwen3moe", tmp_path, n_expert=8),
        tiny_model("qwen3moe", tmp_path, expert_type="Q8_0"),
        tiny_model("mixed", tmp_path),
        tiny_model("sharded", tmp_path),
    ]
    assert len({fingerprint(path) for path in paths}) == len(paths)
