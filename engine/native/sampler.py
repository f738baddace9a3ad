"""llama.cpp's sampler chain."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from llama_cpp import llama_cpp as ll

from engine.config import SamplingSettings
from engine.native.context import NativeContext


class NativeSampler:
    """Repeat penalty, top-k, top-p, min-p, temperature, seed; or greedy at temperature 0."""

    def __init__(self, context: NativeContext, settings: SamplingSettings, prompt: Sequence[int]) -> None:
        self._context = context
        self._chain: Any = ll.llama_sampler_chain_init(ll.llama_sampler_chain_default_params())
        for sampler in _links(settings, context.n_vocab):
            ll.llama_sampler_chain_add(self._chain, sampler)
        if settings.repeat_penalty != 1.0:
            for token in prompt[-settings.repeat_last_tokens :]:
                ll.llama_sampler_accept(self._chain, token)

    def sample(self) -> int:
        """Next token from the context's current logits; also accepts it."""
        return int(ll.llama_sampler_sample(self._chain, self._context.handle, -1))

    def close(self) -> None:
        """Free the chain; idempotent."""
        if self._chain:
            ll.llama_sampler_free(self._chain)
            self._chain = None


def _links(settings: SamplingSettings, n_vocab: int) -> list[Any]:
    links: list[Any] = []
    if settings.repeat_penalty != 1.0:
        penalty = ll.llama_sampler_init_penalties(
            n_vocab, settings.repeat_last_tokens, settings.repeat_penalty, 0.0, 0.0
        )
        links.append(penalty)
    if settings.temperature == 0:
        return [*links, ll.llama_sampler_init_greedy()]
    if settings.top_k:
        links.append(ll.llama_sampler_init_top_k(settings.top_k))
    if settings.top_p < 1:
        links.append(ll.llama_sampler_init_top_p(settings.top_p, 1))
    if settings.min_p > 0:
        links.append(ll.llama_sampler_init_min_p(settings.min_p, 1))
    seed = random.SystemRandom().randrange(1 << 32) if settings.seed is None else settings.seed % (1 << 32)
    return [*links, ll.llama_sampler_init_temp(settings.temperature), ll.llama_sampler_init_dist(seed)]
