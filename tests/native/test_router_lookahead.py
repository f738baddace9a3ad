"""Routers read from real graphs pick what llama.cpp picks, and asked a layer early they save reads."""

from __future__ import annotations

import numpy as np
import pytest

from engine.backends.base import CancelToken
from engine.backends.llama_cpp import LlamaCppBackend
from engine.config import LoadSettings
from engine.demo_model import DEMO_PATH
from engine.events import Counters
from engine.native import tensor
from engine.offload.next_layer import NextLayer
from engine.offload.router_reading import read_router, read_state
from engine.offload.slot_layers import LayerSlots
from engine.placement.slot_table import Ids
from tests.native.conftest import TinyModels
from tests.support.exact_runs import MOE_VARIANTS, loaded, prompt_tokens, run_ours, settings_for


@pytest.mark.parametrize("variant", MOE_VARIANTS)
def test_a_router_read_from_the_graph_picks_what_llama_cpp_picks(
    tiny_models: TinyModels, variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: set[int] = set()

    def compare(_: NextLayer, layer: LayerSlots, wanted: Ids, node: int) -> None:
        router = read_router(node)
        assert router is not None
        state = read_state(node, router)
        assert state is not None
        ids = tensor.int32_rows(tensor.source_of(node, 1))
        assert set(wanted.tolist()) == set(ids.ravel().tolist())
        assert np.array_equal(np.sort(router.picks(state, ids.shape[1])), np.sort(ids))
        assert np.array_equal(router.picks(state, 1), ids[:, :1])
        seen.add(layer.index)

    monkeypatch.setattr(NextLayer, "stream_after", compare)
    with loaded(settings_for(tiny_models(variant), 11, 16)) as (backend, info):
        run_ours(backend, prompt_tokens(20), 2)
        assert seen == set(range(len(info.moe_layers)))


def decode(is_prefetch_on: bool) -> tuple[Counters, Counters]:
    """The demo model with slots for a quarter of its experts: counters after a prompt and 40 tokens later."""
    backend, token = LlamaCppBackend(), CancelToken()
    try:
        settings = LoadSettings(DEMO_PATH, slots_per_class=64, is_prefetch_on=is_prefetch_on, threads=1)
        backend.load(settings, lambda _: None, token)
        words = "<|im_start|>user\nWhy does the first token wait?<|im_end|>\n<|im_start|>assistant\n"
        prompt = backend.tokenize(words, add_special=True, parse_special=True)
        backend.evaluate(prompt, 0, True, token)
        before = backend.counters()
        for index in range(40):
            backend.evaluate([int(backend.logits().argmax())], len(prompt) + index, False, token)
        return before, backend.counters()
    finally:
        backend.unload()


def test_in_a_trained_model_most_misses_of_an_answer_are_foreseen() -> None:
    before, after = decode(is_prefetch_on=True)
    without_before, without = decode(is_prefetch_on=False)
    streamed = after.expert_streamed - before.expert_streamed
    used = after.expert_streamed_used - before.expert_streamed_used
    assert without.expert_streamed == 0
    assert streamed > 100
    assert used / streamed > 0.6  # 0.73 when this was written
    missed = after.bytes_by_reason["miss"] - before.bytes_by_reason["miss"]
    missed_without = without.bytes_by_reason["miss"] - without_before.bytes_by_reason["miss"]
    assert missed < 0.8 * missed_without  # 0.35 when this was written
