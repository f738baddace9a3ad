"""Time to first token through the engine: waits named, phases complete."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.backends.fake import FakeBackend
from engine.backends.fake_script import FakeScript
from engine.config import ChatMessage, LoadSettings, SamplingSettings
from engine.events import (
    CountersSampled,
    ExpertsSampled,
    GenerationFinished,
    GenerationStarted,
    ModelLoaded,
    PrefillProgress,
    TextDelta,
)
from engine.service import Engine
from tests.support.engine_driver import EngineDriver
from tests.support.virtual_time import HeldTime

LOAD = LoadSettings(Path("simulated.gguf"), unit_tokens=4)
ASK = (ChatMessage("user", "Please say something about nine experts in twenty four layers"),)
DENSE = FakeScript(
    n_expert=0, load_seconds=3.0, initialise_seconds=0.6, prefill_token_seconds=0.1, decode_token_seconds=0.2
)


def run(script: FakeScript, requests: int = 1, after_load: bool = False) -> EngineDriver:
    """Load and answer on virtual time; the requests are queued before the load can begin to finish."""
    time = HeldTime()
    driver = EngineDriver(Engine(lambda: FakeBackend(script, time.clock, time.sleep), time.clock))
    try:
        time.hold()
        load = driver.engine.load(LOAD)
        if after_load:
            time.release()
            driver.outcome(load)
        answers = [driver.engine.generate(ASK, SamplingSettings(max_tokens=3)) for _ in range(requests)]
        time.release()
        for answer in answers:
            driver.outcome(answer)
    finally:
        driver.close()
    return driver


def finished(driver: EngineDriver) -> list[GenerationFinished]:
    return [event for event in driver.events if isinstance(event, GenerationFinished)]


def test_a_message_queued_with_the_load_carries_its_time() -> None:
    ttft = finished(run(DENSE))[0].ttft
    assert ttft.queue_ns == 0
    assert ttft.load_ns == pytest.approx(3.0e9, rel=1e-6)
    assert ttft.initialise_ns == pytest.approx(0.6e9, rel=1e-6)


def test_a_message_after_the_load_does_not() -> None:
    ttft = finished(run(DENSE, after_load=True))[0].ttft
    assert (ttft.queue_ns, ttft.load_ns, ttft.initialise_ns) == (0, 0, 0)


def test_a_caller_that_waited_for_the_load_by_itself_says_when_it_was_asked() -> None:
    time = HeldTime()
    driver = EngineDriver(Engine(lambda: FakeBackend(DENSE, time.clock, time.sleep), time.clock))
    try:
        asked_ns = time.clock()
        driver.outcome(driver.engine.load(LOAD))
        limit = SamplingSettings(max_tokens=1)
        driver.outcome(driver.engine.generate(ASK, limit, asked_ns=asked_ns))
    finally:
        driver.close()
    ttft = finished(driver)[0].ttft
    assert ttft.queue_ns == 0
    assert ttft.load_ns == pytest.approx(3.0e9, rel=1e-6)
    assert ttft.initialise_ns == pytest.approx(0.6e9, rel=1e-6)


def test_the_second_message_also_queues_behind_the_first() -> None:
    driver = run(DENSE, requests=2)
    first, second = finished(driver)
    started = next(e for e in driver.events if isinstance(e, GenerationStarted))
    first_answer_seconds = started.prompt_tokens * 0.1 + 2 * 0.2  # two of three tokens are evaluated
    assert second.ttft.queue_ns == pytest.approx(first_answer_seconds * 1e9, rel=1e-6)
    assert second.ttft.load_ns == first.ttft.load_ns


def test_phases_add_up_to_what_the_clock_says() -> None:
    driver = run(DENSE, after_load=True)
    answer = finished(driver)[0]
    first_text = next(e for e in driver.events if isinstance(e, TextDelta))
    loaded = next(e for e in driver.events if isinstance(e, ModelLoaded))
    assert first_text.t_ns - loaded.t_ns == answer.ttft.total_ns


def test_prefill_progress_begins_at_once_and_follows_every_unit() -> None:
    events = run(DENSE).events
    started = next(e for e in events if isinstance(e, GenerationStarted))
    progress = [e for e in events if isinstance(e, PrefillProgress)]
    total = started.prompt_tokens
    expected = [*range(0, total, 4), total]
    assert [e.done_tokens for e in progress] == expected
    assert progress[0].t_ns == started.t_ns
    assert progress[1].elapsed_ns == pytest.approx(0.4e9, rel=1e-6)


def test_last_samples_are_exact() -> None:
    driver = run(FakeScript())
    end = finished(driver)[0]
    counters = [e for e in driver.events if isinstance(e, CountersSampled) and e.seq < end.seq][-1].counters
    experts = [e for e in driver.events if isinstance(e, ExpertsSampled) and e.seq < end.seq][-1]
    new_tokens = end.usage.prompt_tokens
    assert (counters.prefill_tokens, counters.decode_tokens) == (new_tokens, 2)
    # every token picks top-k 4 experts in each of 24 layers
    assert experts.prefill_uses.sum() == new_tokens * 4 * 24
    assert experts.decode_uses.sum() == 2 * 4 * 24
