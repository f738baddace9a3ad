"""The sampler chain: greedy at 0, repeatable by seed, bounded by top-k, top-p and min-p; penalties bite."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from engine.backends.base import CancelToken
from engine.backends.llama_cpp import LlamaCppBackend
from engine.config import SamplingSettings
from tests.native.conftest import TinyModels
from tests.support.exact_runs import loaded, prompt_tokens, settings_for

N_DRAWS = 200


@pytest.fixture
def backend(tiny_models: TinyModels) -> Iterator[LlamaCppBackend]:
    with loaded(settings_for(tiny_models("qwen3moe"), 12, 16)) as (backend, _):
        backend.evaluate(prompt_tokens(20), 0, True, CancelToken())
        yield backend


def draws(backend: LlamaCppBackend, settings: SamplingSettings, prompt: list[int] | None = None) -> list[int]:
    sampler = backend.open_sampler(settings, prompt or [])
    tokens = [sampler.sample() for _ in range(N_DRAWS)]
    sampler.close()
    sampler.close()  # idempotent
    return tokens


def test_temperature_zero_is_greedy(backend: LlamaCppBackend) -> None:
    assert set(draws(backend, SamplingSettings(temperature=0))) == {int(backend.logits().argmax())}


def test_same_seed_same_tokens(backend: LlamaCppBackend) -> None:
    hot = SamplingSettings(temperature=1.5, top_k=0, top_p=1.0, min_p=0.0, seed=7)
    first = draws(backend, hot)
    assert first == draws(backend, hot)
    assert first != draws(backend, SamplingSettings(temperature=1.5, top_k=0, top_p=1.0, min_p=0.0, seed=8))
    assert len(set(first)) > 20


def test_top_k_keeps_the_k_likeliest(backend: LlamaCppBackend) -> None:
    settings = SamplingSettings(temperature=5.0, top_k=3, top_p=1.0, min_p=0.0, seed=1)
    assert set(draws(backend, settings)) == set(np.argsort(-backend.logits())[:3].tolist())


def test_top_p_keeps_the_smallest_sufficient_set(backend: LlamaCppBackend) -> None:
    logits = backend.logits().astype(np.float64)
    shares = np.exp(logits - logits.max())
    shares /= shares.sum()
    order = np.argsort(-shares)
    kept = order[: int(np.searchsorted(np.cumsum(shares[order]), 0.5)) + 1]
    settings = SamplingSettings(temperature=1.0, top_k=0, top_p=0.5, min_p=0.0, seed=1)
    assert set(draws(backend, settings)) <= set(kept.tolist())


def test_min_p_drops_what_is_far_below_the_best(backend: LlamaCppBackend) -> None:
    logits = backend.logits().astype(np.float64)
    kept = np.flatnonzero(logits >= logits.max() + np.log(0.3))
    settings = SamplingSettings(temperature=1.0, top_k=0, top_p=1.0, min_p=0.3, seed=1)
    assert set(draws(backend, settings)) <= set(kept.tolist())


def test_repeat_penalty_counts_the_prompt(backend: LlamaCppBackend) -> None:
    best = int(backend.logits().argmax())
    assert backend.logits()[best] > 0  # a positive logit is divided by the penalty
    settings = SamplingSettings(temperature=0, repeat_penalty=50.0)
    sampler = backend.open_sampler(settings, [best])
    assert sampler.sample() != best
    sampler.close()
