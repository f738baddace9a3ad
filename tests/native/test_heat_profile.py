"""What a loaded model learns is kept when it is freed, and changes no exact answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.backends.base import CancelToken
from engine.backends.llama_cpp import LlamaCppBackend
from engine.config import LoadSettings, Routing
from engine.errors import Cancelled
from engine.gguf.fingerprint import model_fingerprint
from engine.gguf.reader import read_model
from engine.placement.heat_profile import HeatProfile, ProfileFile
from engine.placement.routing_trace import load_trace
from tests.native.conftest import TinyModels
from tests.support.exact_runs import (
    assert_identical,
    loaded,
    prompt_tokens,
    run_ours,
    run_stock,
    settings_for,
)


def kept(settings: LoadSettings) -> HeatProfile | None:
    assert settings.profile_dir is not None
    return ProfileFile(settings.profile_dir, model_fingerprint(read_model(settings.path))).load()


@pytest.fixture
def exact(tiny_models: TinyModels, tmp_path: Path) -> LoadSettings:
    return replace(
        settings_for(tiny_models("qwen3moe"), 20, 16, threads=1), profile_dir=tmp_path / "profiles"
    )


@pytest.fixture
def resident(exact: LoadSettings) -> LoadSettings:
    return replace(exact, routing=Routing.RESIDENT, pool_per_layer=4)


@pytest.mark.parametrize("slots", [20, None])
def test_chances_are_the_shares_of_the_recorded_run(
    exact: LoadSettings, tmp_path: Path, slots: int | None
) -> None:
    settings = replace(exact, slots_per_class=slots, trace_path=tmp_path / "run.trace")
    with loaded(settings) as (backend, _):
        run_ours(backend, prompt_tokens(16), 12)
    profile = kept(settings)
    assert profile is not None
    assert profile.use is not None
    trace = load_trace(tmp_path / "run.trace")
    for row in range(3):  # the last layer computes one token of a prompt only
        steps = [step for step in trace.steps if step.row == row]
        picks = np.zeros(16)
        for step in steps:
            picks[step.experts] += step.picks
        assert sum(step.n_tokens for step in steps) == 28
        # 28 tokens, all younger than the memories that are kept: nearly a plain share
        assert profile.use.chance[row] == pytest.approx(picks / 28, abs=0.15)
        assert profile.use.chance[row].sum() == pytest.approx(4)
        assert profile.use.tokens[row] == 28


def test_exact_answers_do_not_depend_on_it(exact: LoadSettings) -> None:
    with loaded(exact) as (backend, _):
        run_ours(backend, prompt_tokens(40, seed=2), 6)
    with loaded(exact) as (backend, info):
        ours = run_ours(backend, prompt_tokens(40), 6)
    assert_identical(ours, run_stock(exact.path, info.unit_tokens, 1, 40, 6, 1).steps)


def test_without_a_pass_or_a_whole_load_nothing_is_written(exact: LoadSettings) -> None:
    with loaded(exact):
        pass
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        LlamaCppBackend().load(exact, lambda _: None, token)
    assert kept(exact) is None


def test_fixed_pools_give_the_same_answer_after_any_history(resident: LoadSettings) -> None:
    with loaded(resident) as (backend, _):
        run_ours(backend, prompt_tokens(40, seed=5), 20)
    before = kept(resident)
    fixed = replace(resident, is_pool_fixed=True)
    answers = []
    for history in (1, 2, 3):
        with loaded(fixed) as (backend, info):
            if history > 1:
                run_ours(backend, prompt_tokens(30, seed=history), 8)
            answers.append(run_ours(backend, prompt_tokens(40), 6))
            assert not any("profile" in note for note in info.notes)
    assert_identical(answers[1], answers[0])
    assert_identical(answers[2], answers[0])
    after = kept(resident)
    assert before is not None
    assert after is not None
    assert np.array_equal(before.heat, after.heat)
    with loaded(replace(fixed, profile_dir=None)) as (backend, _):
        unlearned = run_ours(backend, prompt_tokens(40), 6)
    assert not np.array_equal(unlearned[0], answers[0][0])


def test_each_routing_keeps_its_own_and_leaves_the_other(exact: LoadSettings, resident: LoadSettings) -> None:
    for settings in (exact, resident, exact):
        with loaded(settings) as (backend, _):
            run_ours(backend, prompt_tokens(20), 4)
    profile = kept(exact)
    assert profile is not None
    assert profile.use is not None
    assert profile.heat is not None


def test_a_damaged_profile_is_named_and_replaced(exact: LoadSettings) -> None:
    with loaded(exact) as (backend, _):
        run_ours(backend, prompt_tokens(20), 2)
    assert exact.profile_dir is not None
    (path,) = exact.profile_dir.iterdir()
    path.write_bytes(path.read_bytes()[:-1])
    with loaded(exact) as (backend, info):
        assert any("damaged" in note for note in info.notes)
        run_ours(backend, prompt_tokens(20), 2)
    assert kept(exact) is not None


def test_a_folder_that_cannot_be_written_is_named(exact: LoadSettings, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with loaded(replace(exact, profile_dir=tmp_path / "file" / "profiles")) as (backend, info):
        run_ours(backend, prompt_tokens(20), 2)
    assert any("can't be kept" in note for note in info.notes)


def test_fixed_pools_without_a_profile_say_so(resident: LoadSettings) -> None:
    with loaded(replace(resident, is_pool_fixed=True)) as (_, info):
        assert any("no heat profile" in note for note in info.notes)
