"""The model that comes with the program: its file, its answers, its routing, and stock llama.cpp's logits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from gguf import GGUFReader

from engine.backends.base import CancelToken
from engine.backends.llama_cpp import LlamaCppBackend
from engine.backends.stock import StockModel
from engine.config import MIB, ChatMessage, SamplingSettings
from engine.demo_model import DEMO_PATH, demo_settings
from engine.events import ExpertsSampled, FinishReason, GenerationFinished, ModelLoaded
from engine.native.context import ContextSettings
from tests.support.engine_driver import EngineDriver, running_engine

_GREEDY = SamplingSettings(temperature=0, max_tokens=120)


@pytest.fixture(scope="module")
def demo() -> Iterator[EngineDriver]:
    """A running engine with the demo model at its own settings."""
    with running_engine(LlamaCppBackend) as driver:
        assert isinstance(driver.outcome(driver.engine.load(demo_settings())), ModelLoaded)
        yield driver


def test_the_file_is_small_and_says_what_it_is() -> None:
    fields = GGUFReader(DEMO_PATH).fields
    assert DEMO_PATH.stat().st_size <= 16_000_000
    assert fields["general.architecture"].contents() == "qwen3moe"
    assert fields["general.license"].contents() == "MIT"
    assert "demonstration" in fields["general.description"].contents()
    assert fields["qwen3moe.block_count"].contents() >= 8
    assert fields["qwen3moe.expert_count"].contents() >= 32
    assert fields["qwen3moe.expert_used_count"].contents() >= 4
    assert fields["qwen3moe.context_length"].contents() >= 1024


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("What is a slot?", "one expert"),
        ("What does TTFT mean?", "time to first token"),
        ("プリフィルとは何ですか？", "プロンプト"),
        ("什么是预填充？", "提示"),
        ("What is the capital of France?", "only a small demonstration model"),
    ],
)
def test_it_answers_what_it_was_made_for(demo: EngineDriver, question: str, fact: str) -> None:
    finished = demo.outcome(demo.engine.generate([ChatMessage("user", question)], _GREEDY))
    assert isinstance(finished, GenerationFinished)
    assert finished.reason is FinishReason.END_OF_TEXT
    assert fact in finished.text


def test_a_quarter_of_its_experts_has_a_slot_and_routing_is_alive(demo: EngineDriver) -> None:
    info = demo.engine.model
    assert info is not None
    assert sum(each.slots for each in info.slot_classes) * 4 == len(info.moe_layers) * info.n_expert
    assert info.slots_bytes < 4 * MIB
    assert info.program_bytes is not None
    # dense weights, context and these slots; what this process of tests holds besides is no part of it
    assert info.ram_budget_bytes - info.program_bytes < 256 * MIB
    for question in ("What is a slot?", "スロットとは何ですか", "槽位是什么", "How do I open a model?"):
        demo.outcome(demo.engine.generate([ChatMessage("user", question)], _GREEDY))
    sampled = [event for event in demo.events if isinstance(event, ExpertsSampled)][-1]
    uses = sampled.prefill_uses + sampled.decode_uses
    assert ((uses > 0).mean(axis=1) >= 0.8).all()
    busiest = np.sort(uses, axis=1)[:, -8:].sum(axis=1) / uses.sum(axis=1)
    assert ((busiest >= 0.35) & (busiest <= 0.8)).all()


def test_logits_from_a_quarter_of_the_slots_are_stock_llama_cpps() -> None:
    backend, token = LlamaCppBackend(), CancelToken()
    info = backend.load(demo_settings(context_tokens=512), lambda _: None, token).info
    try:
        words = "<|im_start|>user\nWhy does the first token wait?<|im_end|>\n<|im_start|>assistant\n"
        prompt = backend.tokenize(words, add_special=True, parse_special=True)
        stock = StockModel(DEMO_PATH, ContextSettings(512, info.unit_tokens, info.threads))
        try:
            backend.evaluate(prompt, 0, True, token)
            ours, reference = backend.logits(), stock.evaluate(prompt, 0)
            for position in range(len(prompt), len(prompt) + 30):
                assert np.array_equal(ours.view(np.uint32), reference.view(np.uint32))
                chosen = [int(ours.argmax())]
                backend.evaluate(chosen, position, False, token)
                ours, reference = backend.logits(), stock.evaluate(chosen, position)
        finally:
            stock.close()
        assert backend.counters().evictions > 0
    finally:
        backend.unload()
