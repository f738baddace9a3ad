"""Settings that change between answers, through the engine's door, with the simulated model."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from engine.backends.fake import FakeBackend
from engine.backends.fake_script import FakeScript
from engine.config import GIB, ChatMessage, LoadSettings, Routing, SamplingSettings
from engine.events import (
    Event,
    ExpertsSampled,
    GenerationFinished,
    GenerationStarted,
    ModelAdjusted,
    PrefillProgress,
    RequestFailed,
)
from engine.placement.tier import Tier
from tests.support.engine_driver import EngineDriver, running_engine
from tests.support.virtual_time import VirtualTime

LOAD = LoadSettings(Path("simulated.gguf"))
ASK = (ChatMessage("user", "one two three four five six seven eight nine ten " * 4),)
SCRIPT = FakeScript(n_layer=4, n_expert=16, top_k=2, pool_per_layer=5, window_slots=4, unit_tokens=16)


def quick_backend() -> FakeBackend:
    time = VirtualTime()
    return FakeBackend(SCRIPT, time.clock, time.sleep)


def adjusted(driver: EngineDriver, wanted: LoadSettings) -> ModelAdjusted:
    event = driver.outcome(driver.engine.adjust(wanted))
    assert isinstance(event, ModelAdjusted)
    return event


def answered(driver: EngineDriver) -> GenerationStarted:
    request = driver.engine.generate(ASK, SamplingSettings())
    started, outcome = driver.first(GenerationStarted, request), driver.outcome(request)
    assert isinstance(started, GenerationStarted)
    assert isinstance(outcome, GenerationFinished)
    return started


def test_the_effective_values_are_told() -> None:
    with running_engine(quick_backend) as driver:
        driver.engine.load(LOAD)
        event = adjusted(driver, replace(LOAD, unit_tokens=3, pool_per_layer=4, hot_per_layer=9))
        assert driver.engine.model == event.info
    (slots,) = event.info.slot_classes
    assert (event.info.unit_tokens, event.info.requested_unit_tokens) == (3, 3)
    # 4 layers of 5 slots and 4 to lend: pools of 4 leave 8
    assert (slots.slots, slots.pool_per_layer, slots.window_slots, slots.hot_per_layer) == (24, 4, 8, 4)


def test_a_smaller_unit_is_in_force_from_the_next_answer_on() -> None:
    with running_engine(quick_backend) as driver:
        driver.engine.load(LOAD)
        answered(driver)
        adjusted(driver, replace(LOAD, unit_tokens=5))
        driver.engine.generate((ChatMessage("user", "eleven twelve " * 20),), SamplingSettings())
        driver.outcome(driver.engine.count_tokens(ASK))
    assert _steps(driver.events, 0) == 16
    assert _steps(driver.events, 1) == 5


def _steps(events: list[Event], place: int) -> int:
    """Most tokens that were evaluated at once for the prompt of one of the answers."""
    started = [event for event in events if isinstance(event, GenerationStarted)][place]
    done = [started.cached_tokens] + [
        event.done_tokens
        for event in events
        if isinstance(event, PrefillProgress) and event.request_id == started.request_id
    ]
    return max(after - before for before, after in pairwise(done))


def test_smaller_pools_and_no_hot_zone_are_seen_at_once() -> None:
    with running_engine(quick_backend) as driver:
        driver.engine.load(LOAD)
        driver.outcome(driver.engine.warm_up())
        event = adjusted(driver, replace(LOAD, pool_per_layer=3, hot_per_layer=0))
        driver.outcome(driver.engine.count_tokens(ASK))
        sample = [each for each in driver.events if isinstance(each, ExpertsSampled)][-1]
    assert sample.seq > event.seq
    assert (sample.tiers == Tier.HOST_POOL).sum(axis=1).tolist() == [3] * 4
    assert (sample.tiers == Tier.HOST_WINDOW).sum() == 4 * 2  # 12 slots are lent now
    assert not (sample.tiers == Tier.HOT).any()


def test_exact_routing_uses_nothing_that_resident_routing_left() -> None:
    with running_engine(quick_backend) as driver:
        driver.engine.load(replace(LOAD, routing=Routing.RESIDENT))
        prompt_tokens = answered(driver).prompt_tokens
        adjusted(driver, LOAD)
        first, again = answered(driver), answered(driver)
        adjusted(driver, replace(LOAD, routing=Routing.RESIDENT))
        resident = answered(driver)
        adjusted(driver, LOAD)
        back = answered(driver)
    assert first.cached_tokens == 0
    assert again.cached_tokens == resident.cached_tokens == prompt_tokens - 1
    assert back.cached_tokens == prompt_tokens - 1  # but for the last token, exact routing computed it


def test_what_needs_a_load_fails_in_words_and_changes_nothing() -> None:
    with running_engine(quick_backend) as driver:
        driver.engine.load(LOAD)
        failure = driver.outcome(driver.engine.adjust(replace(LOAD, ram_budget_bytes=GIB, unit_tokens=3)))
        info = driver.engine.model
    assert isinstance(failure, RequestFailed)
    assert failure.error.kind == "UsageError"
    assert "ram_budget_bytes" in failure.error.fault
    assert info is not None
    assert info.unit_tokens == 16


def test_without_a_model_it_fails_in_words() -> None:
    with running_engine(quick_backend) as driver:
        failure = driver.outcome(driver.engine.adjust(LOAD))
    assert isinstance(failure, RequestFailed)
    assert failure.error.kind == "StateError"
