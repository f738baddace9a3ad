"""Counting tokens and continuing answers through the engine's door, with the simulated model."""

from __future__ import annotations

from pathlib import Path

from engine.backends.fake import FakeBackend
from engine.backends.fake_script import FakeScript
from engine.commands import CountTokens, Mailbox, cancelled_outcome
from engine.config import ChatMessage, LoadSettings, SamplingSettings
from engine.events import (
    GenerationFinished,
    GenerationStarted,
    RequestFailed,
    StateChanged,
    TextDelta,
    TokensCounted,
)
from tests.support.engine_driver import EngineDriver, running_engine
from tests.support.virtual_time import VirtualTime

LOAD = LoadSettings(Path("simulated.gguf"), context_tokens=2048)
ASK = (ChatMessage("system", "Be kind."), ChatMessage("user", "Hello there"))
TEXT = "One two three four five six seven eight."


def quick_backend() -> FakeBackend:
    time = VirtualTime()
    return FakeBackend(FakeScript(default_answer=TEXT, answers=(("one", "wrong"),)), time.clock, time.sleep)


def finished(driver: EngineDriver, request_id: int) -> GenerationFinished:
    event = driver.outcome(request_id)
    assert isinstance(event, GenerationFinished)
    return event


def test_the_count_equals_the_prompt_of_the_answer() -> None:
    with running_engine(quick_backend) as driver:
        driver.engine.load(LOAD)
        counted = driver.outcome(driver.engine.count_tokens(ASK))
        ask = driver.engine.generate(ASK, SamplingSettings())
        started = driver.first(GenerationStarted, ask)
    assert isinstance(counted, TokensCounted)
    assert isinstance(started, GenerationStarted)
    assert (counted.tokens, counted.context_tokens) == (started.prompt_tokens, 2048)


def test_counting_changes_no_state_and_waits_its_turn() -> None:
    with running_engine(quick_backend) as driver:
        driver.engine.load(LOAD)
        ask = driver.engine.generate(ASK, SamplingSettings())
        counts = [driver.engine.count_tokens(ASK) for _ in range(3)]
        outcomes = [driver.outcome(count) for count in counts]
        n_states = sum(isinstance(event, StateChanged) for event in driver.events)
    assert all(isinstance(outcome, TokensCounted) for outcome in outcomes)
    assert all(outcome.seq > finished(driver, ask).seq for outcome in outcomes)
    assert n_states == 4  # loading, ready, generating, ready


def test_without_a_model_there_is_nothing_to_count_with() -> None:
    with running_engine(quick_backend) as driver:
        failure = driver.outcome(driver.engine.count_tokens(ASK))
    assert isinstance(failure, RequestFailed)
    assert failure.error.kind == "StateError"


def test_a_stopped_answer_goes_on_where_it_stopped() -> None:
    with running_engine(quick_backend) as driver:
        driver.engine.load(LOAD)
        first = finished(driver, driver.engine.generate(ASK, SamplingSettings(max_tokens=3)))
        messages = (*ASK, ChatMessage("assistant", first.text))
        more_id = driver.engine.generate(messages, SamplingSettings(), is_continuation=True)
        more = finished(driver, more_id)
        texts = [e.text for e in driver.events if isinstance(e, TextDelta) and e.request_id == more_id]
    assert first.text == "One two three"
    assert "".join(texts) == more.text == " four five six seven eight."


def test_continuing_without_an_answer_fails_in_words() -> None:
    with running_engine(quick_backend) as driver:
        driver.engine.load(LOAD)
        failure = driver.outcome(driver.engine.generate(ASK, SamplingSettings(), is_continuation=True))
    assert isinstance(failure, RequestFailed)
    assert failure.error.kind == "UsageError"


def test_a_count_taken_back_while_it_waits_ends_as_cancelled() -> None:
    box = Mailbox()
    assert box.post(CountTokens(request_id=7, queued_ns=0, messages=ASK))
    (removed,) = box.cancel(7)
    outcome = cancelled_outcome(removed)
    assert isinstance(outcome, RequestFailed)
    assert (outcome.request_id, outcome.error.kind) == (7, "Cancelled")


def test_counts_that_wait_when_the_engine_closes_still_end() -> None:
    with running_engine(quick_backend) as driver:
        driver.engine.load(LOAD)
        counts = [driver.engine.count_tokens(ASK) for _ in range(5)]
        driver.close()
        ended = {
            event.request_id for event in driver.events if isinstance(event, TokensCounted | RequestFailed)
        }
    assert set(counts) <= ended
