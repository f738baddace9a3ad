"""A run of real llama.cpp, recorded and opened again: every figure is the engine's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.inspector.numbers_view import counter_rows
from app.playback import Playback
from app.telemetry_store import TelemetryStore
from engine.backends.llama_cpp import LlamaCppBackend
from engine.config import ChatMessage, SamplingSettings
from engine.events import CountersSampled, Event, GenerationFinished
from engine.telemetry.trace_file import TraceWriter
from tests.native.conftest import TinyModels
from tests.support.engine_driver import running_engine
from tests.support.exact_runs import settings_for

SECRET = "unlikely-word"
TOP_K, LAYERS = 4, 4


@pytest.fixture
def events(tiny_models: TinyModels) -> list[Event]:
    """Load, two answers and a warm-up."""
    with running_engine(LlamaCppBackend) as driver:
        driver.outcome(driver.engine.load(settings_for(tiny_models("qwen3moe"), 12, 16)))
        question = [ChatMessage("user", f"What is an {SECRET}?")]
        for _ in range(2):
            greedy = SamplingSettings(temperature=0, max_tokens=6)
            driver.outcome(driver.engine.generate(question, greedy))
        driver.outcome(driver.engine.warm_up())
    return driver.events


def test_a_recorded_run_shows_the_engines_counters(events: list[Event], tmp_path: Path) -> None:
    live = TelemetryStore()
    live.apply(events)
    path = tmp_path / "run.embertrace"
    writer = TraceWriter(path)
    writer.write(events)
    writer.close()
    playback = Playback(path)
    # closing the engine unloads the model: look at the time of the last counters
    last = [event for event in events if isinstance(event, CountersSampled)][-1]
    playback.seek(last.t_ns - events[0].t_ns)
    assert playback.store.counters == last.counters
    assert (
        dict(counter_rows(playback.store.counters))["expert requests"] == f"{last.counters.expert_requests:,}"
    )
    assert list(playback.store.answers) == list(live.answers)
    assert SECRET not in path.read_text(encoding="utf-8")


def test_the_map_counts_every_pick(events: list[Event]) -> None:
    store = TelemetryStore()
    finished = [event for event in events if isinstance(event, GenerationFinished)]
    store.apply([event for event in events if event.t_ns <= finished[-1].t_ns])
    assert store.experts is not None
    assert store.counters is not None
    sample, counters = store.experts.sample, store.counters
    # every token picks top-k experts in every layer; llama.cpp runs the last one only where logits are wanted
    assert np.all(sample.prefill_uses.sum(axis=1)[:-1] == counters.prefill_tokens * TOP_K)
    assert 0 < sample.prefill_uses[-1].sum() <= counters.prefill_tokens * TOP_K
    assert np.all(sample.decode_uses.sum(axis=1) == counters.decode_tokens * TOP_K)
    assert len(sample.moe_layers) == LAYERS
