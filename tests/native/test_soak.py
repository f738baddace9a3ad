"""The long soak's user and its spot checks, for a few sessions."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.service import Engine
from tests.native.conftest import TinyModels
from tests.support.soak_models import RecordingBackend, SoakModel, difference
from tests.support.soak_user import SoakUser


@pytest.fixture
def user(tmp_path: Path) -> Iterator[SoakUser]:
    backend = RecordingBackend()
    engine = Engine(lambda: backend)
    yield SoakUser(engine, backend, tmp_path, random.Random(5))
    engine.close(30)


def test_sessions_with_spot_checks_find_nothing(user: SoakUser, tiny_models: TinyModels) -> None:
    model = SoakModel("qwen3moe", tiny_models("qwen3moe"), has_experts=True)
    user.learn_reference(model)
    checks = [user.session(model, is_spot_due=True) for _ in range(4)]
    assert user.requests.faults == []
    assert user.acts["spot check"] == sum(checks) > 0


def test_a_wrong_bit_is_found_and_named(user: SoakUser, tiny_models: TinyModels) -> None:
    model = SoakModel("qwen3moe", tiny_models("qwen3moe"), has_experts=True)
    user.learn_reference(model)
    right = model.references[16, False]
    wrong = right[-1].logits.copy()
    wrong[7] += 0.5
    assert difference(right, right) == ""
    changed = (*right[:-1], dataclasses.replace(right[-1], logits=wrong))
    assert difference(right, changed) == f"step {len(right) - 1}: logits differ by up to 0.5"
    assert "another prompt" in difference(right[1:], right)


def test_a_bad_file_that_loads_is_a_fault(user: SoakUser, tiny_models: TinyModels) -> None:
    user.open_bad_file(tiny_models("qwen3moe"))
    user.unload()
    assert user.requests.faults == ["qwen3moe.gguf was loaded"]
