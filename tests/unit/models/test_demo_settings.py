"""The demo model gets slots for a quarter of its experts, unless a budget says otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.config import GIB, LoadSettings
from engine.demo_model import demo_settings
from engine.errors import ModelFileError
from tests.support.models import tiny_model


def test_a_quarter_of_the_experts_has_a_slot(tmp_path: Path) -> None:
    path = tiny_model("qwen3moe", tmp_path, n_layer=3, n_expert=16)
    assert demo_settings(path) == LoadSettings(path, slots_per_class=12)


def test_a_budget_decides_instead(tmp_path: Path) -> None:
    expected = LoadSettings(tmp_path, ram_budget_bytes=GIB, context_tokens=512)
    assert demo_settings(tmp_path, ram_budget_bytes=GIB, context_tokens=512) == expected


def test_without_the_file_it_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"ember\.gguf"):
        demo_settings(tmp_path / "ember.gguf")
