"""Resident routing on stock llama.cpp, written anew: all experts in memory, the rule as a plain loop."""

from __future__ import annotations

import ctypes as c
import re
from pathlib import Path

import numpy as np
from llama_cpp import llama_cpp as ll

from engine.backends.stock import StockModel
from engine.native.context import ContextSettings
from tests.support.exact_runs import CONTEXT_TOKENS, Logits, prompt_tokens

_RANKING = re.compile(rb"ffn_moe_argsort-(\d+)")
# where ggml keeps a tensor's shape, strides, data and name, as ggml.h lays the struct out
_NE, _NB, _DATA, _NAME = 16, 48, 248, 256


class ResidentStock(StockModel):
    """Stock llama.cpp whose ranks 1 and up come from `pool`, the same expert numbers in every layer."""

    def __init__(self, path: Path, settings: ContextSettings, top_k: int, pool: set[int]) -> None:
        self._top_k, self._pool = top_k, pool
        self.picked: list[tuple[int, list[int]]] = []
        super().__init__(path, settings)

    def _open_context(self, settings: ContextSettings) -> object:
        params = ll.llama_context_default_params()
        params.n_ctx = settings.context_tokens
        params.n_batch = params.n_ubatch = settings.unit_tokens
        params.n_threads = params.n_threads_batch = settings.threads
        self._callback = ll.ggml_backend_sched_eval_callback(self._on_node)
        params.cb_eval = self._callback
        return ll.llama_init_from_model(self._model, params)

    def _on_node(self, node: int, is_asking: bool, _: object) -> bool:
        match = _RANKING.fullmatch(c.string_at(node + _NAME))
        if match is None:
            return False
        if not is_asking:
            self._rewrite(node, int(match[1]))
        return True

    def _rewrite(self, node: int, layer: int) -> None:
        n_expert, n_tokens = (c.c_int64 * 2).from_address(node + _NE)
        stride = (c.c_size_t * 2).from_address(node + _NB)[1]
        data = c.c_void_p.from_address(node + _DATA).value or 0
        for token in range(n_tokens):
            row = (c.c_int32 * n_expert).from_address(data + token * stride)
            ranking = list(row)
            chosen = ranking[:1]
            for expert in ranking[1:]:
                if len(chosen) < self._top_k and expert in self._pool:
                    chosen.append(expert)
            row[: self._top_k] = chosen
            self.picked.append((layer, chosen))


def run_resident_stock(
    path: Path, unit: int, top_k: int, pool: set[int], n_prompt: int, n_decode: int
) -> tuple[Logits, ...]:
    """The prompt's last logits, then greedy decoding, as `exact_runs.run_ours`."""
    model = ResidentStock(path, ContextSettings(CONTEXT_TOKENS, unit, 2), top_k, pool)
    try:
        steps = [model.evaluate(prompt_tokens(n_prompt), 0)]
        for index in range(n_decode):
            steps.append(model.evaluate([int(np.argmax(steps[-1]))], n_prompt + index))
        return tuple(steps)
    finally:
        model.close()
