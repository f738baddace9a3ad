"""A warm-up through the engine's door, with the simulated model."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.backends.fake import FakeBackend
from engine.backends.fake_script import FakeScript
from engine.config import ChatMessage, LoadSettings, SamplingSettings
from engine.events import (
    Counters,
    CountersSampled,
    EngineState,
    ExpertsSampled,
    GenerationFinished,
    GenerationStarted,
    RequestFailed,
    StateChanged,
    WarmUpFinished,
    WarmUpProgress,
)
from engine.wait_split import LoadSpan, WaitSplit, WarmUpSpan, split_wait
from tests.support.engine_driver import EngineDriver, running_engine
from tests.support.virtual_time import HeldTime, VirtualTime

LOAD = LoadSettings(Path("simulated.gguf"))
ASK = (ChatMessage("user", "Hello"),)
SCRIPT = FakeScript(n_layer=4, n_expert=16, top_k=2, pool_per_layer=5, window_slots=4)


def quick_backend() -> FakeBackend:
    time = VirtualTime()
    return FakeBackend(SCRIPT, time.clock, time.sleep)


def warmed(driver: EngineDriver) -> WarmUpFinished:
    event = driver.outcome(driver.engine.warm_up())
    assert isinstance(event, WarmUpFinished)
    return event


def last_counters(driver: EngineDriver) -> Counters:
    return [event for event in driver.events if isinstance(event, CountersSampled)][-1].counters


def test_pools_are_full_afterwards_and_nothing_is_left_to_do() -> None:
    with running_engine(quick_backend) as driver:
        driver.engine.load(LOAD)
        first, again = warmed(driver), warmed(driver)
        experts = [event for event in driver.events if isinstance(event, ExpertsSampled)][-1]
        counters = last_counters(driver)
    assert (first.experts_loaded, first.bytes_read) == (4 * 5, 4 * 5 * SCRIPT.expert_bytes)
    assert first.elapsed_ns == pytest.approx(first.bytes_read / SCRIPT.disk_bytes_per_second * 1e9, rel=1e-6)
    assert ((experts.tiers == 2).sum(axis=1) == 5).all()
    assert first.expected_hit_rate_before == 0
    assert first.expected_hit_rate_after > 5 / 16  # favourites, not just anybody
    assert (again.experts_loaded, again.bytes_read) == (0, 0)
    assert counters.bytes_by_reason["warm_up"] == first.bytes_read
    assert counters.passes == 0


def test_progress_ends_with_all_of_it() -> None:
    with running_engine(quick_backend) as driver:
        driver.engine.load(LOAD)
        request = driver.engine.warm_up()
        driver.outcome(request)
        progress = [event for event in driver.events if isinstance(event, WarmUpProgress)]
        states = [event.state for event in driver.events if isinstance(event, StateChanged)]
    assert (progress[0].done_experts, progress[-1].done_experts) == (0, 20)
    assert {(event.request_id, event.total_experts) for event in progress} == {(request, 20)}
    assert states[-2:] == [EngineState.WARMING_UP, EngineState.READY]


def test_the_cache_of_the_conversation_stays() -> None:
    with running_engine(quick_backend) as driver:
        driver.engine.load(LOAD)
        driver.outcome(driver.engine.generate(ASK, SamplingSettings()))
        warmed(driver)
        started = driver.first(GenerationStarted, driver.engine.generate(ASK, SamplingSettings()))
    assert isinstance(started, GenerationStarted)
    assert started.cached_tokens == started.prompt_tokens - 1


def test_a_dense_model_has_nothing_to_warm_up() -> None:
    time = VirtualTime()
    with running_engine(lambda: FakeBackend(FakeScript(n_expert=0), time.clock, time.sleep)) as driver:
        driver.engine.load(LOAD)
        outcome = warmed(driver)
    assert (outcome.experts_loaded, outcome.expected_hit_rate_after) == (0, 1.0)


def test_without_a_model_it_fails_in_words() -> None:
    with running_engine(quick_backend) as driver:
        failure = driver.outcome(driver.engine.warm_up())
    assert isinstance(failure, RequestFailed)
    assert failure.error.kind == "StateError"


def test_a_cancelled_warm_up_keeps_what_has_come() -> None:
    time = HeldTime()
    with running_engine(lambda: FakeBackend(SCRIPT, time.clock, time.sleep)) as driver:
        driver.outcome(driver.engine.load(LOAD))
        time.hold()
        request = driver.engine.warm_up()
        assert time.someone_waits.wait(20)
        driver.engine.cancel(request)
        failure = driver.outcome(request)
        time.release()
        again = warmed(driver)
    assert isinstance(failure, RequestFailed)
    assert failure.error.kind == "Cancelled"
    assert again.experts_loaded == 20


def test_a_message_carries_the_warm_up_it_waited_for() -> None:
    # loaded until 200, warmed up from 300 to 400
    load, warm_up = LoadSpan(start_ns=100, load_ns=60, end_ns=200), WarmUpSpan(300, 400)
    assert split_wait(350, 410, load, warm_up) == WaitSplit(10, 0, 0, 50)
    assert split_wait(250, 410, load, warm_up) == WaitSplit(60, 0, 0, 100)
    assert split_wait(180, 410, load, warm_up) == WaitSplit(110, 0, 20, 100)
    assert split_wait(405, 410, load, warm_up) == WaitSplit(5, 0, 0, 0)


def test_ttft_names_the_warm_up() -> None:
    time = HeldTime()
    with running_engine(lambda: FakeBackend(SCRIPT, time.clock, time.sleep)) as driver:
        driver.outcome(driver.engine.load(LOAD))
        time.hold()
        driver.engine.warm_up()
        assert time.someone_waits.wait(20)
        ask = driver.engine.generate(ASK, SamplingSettings(), asked_ns=0)
        time.release()
        answer = driver.outcome(ask)
    assert isinstance(answer, GenerationFinished)
    assert answer.ttft.warm_up_ns > 0
