"""Cancelling and closing in every phase; held time shows that the phase is really in progress."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.backends.fake import FakeBackend
from engine.backends.fake_script import FakeScript
from engine.config import ChatMessage, LoadSettings, SamplingSettings
from engine.events import (
    EngineState,
    FinishReason,
    GenerationFinished,
    ModelLoaded,
    ModelUnloaded,
    RequestFailed,
    TextDelta,
    TtftPhases,
)
from tests.support.engine_driver import EngineDriver, running_engine
from tests.support.virtual_time import HeldTime

LOAD = LoadSettings(Path("simulated.gguf"))
ASK = (ChatMessage("user", "Hello"),)
# with no waits in prefill, the first wait of an answer is in decode
NO_PREFILL = FakeScript(prefill_token_seconds=0.0, n_expert=0)
WITH_PREFILL = FakeScript(prefill_token_seconds=0.1)


class Held:
    """An engine whose simulated waits can be held."""

    def __init__(self, driver: EngineDriver, time: HeldTime) -> None:
        self.driver, self.engine, self.time = driver, driver.engine, time

    def load(self) -> None:
        assert isinstance(self.driver.outcome(self.engine.load(LOAD)), ModelLoaded)

    def stuck_load(self) -> int:
        self.time.hold()
        request = self.engine.load(LOAD)
        assert self.time.someone_waits.wait(20)
        return request

    def stuck_answer(self) -> int:
        self.load()
        self.time.hold()
        request = self.engine.generate(ASK, SamplingSettings())
        assert self.time.someone_waits.wait(20)
        return request


@pytest.fixture
def script() -> FakeScript:
    return WITH_PREFILL


@pytest.fixture
def held(script: FakeScript) -> Iterator[Held]:
    time = HeldTime()
    with running_engine(lambda: FakeBackend(script, time.clock, time.sleep)) as driver:
        yield Held(driver, time)


def cancelled(driver: EngineDriver, request: int) -> GenerationFinished:
    outcome = driver.outcome(request)
    assert isinstance(outcome, GenerationFinished)
    assert outcome.reason is FinishReason.CANCELLED
    return outcome


def failed_as_cancelled(driver: EngineDriver, request: int) -> None:
    outcome = driver.outcome(request)
    assert isinstance(outcome, RequestFailed)
    assert outcome.error.kind == "Cancelled"


def test_cancel_during_load(held: Held) -> None:
    request = held.stuck_load()
    assert held.engine.state is EngineState.LOADING
    held.engine.cancel(request)
    failed_as_cancelled(held.driver, request)
    held.time.release()
    held.load()
    assert held.engine.model is not None


def test_cancel_during_prefill(held: Held) -> None:
    request = held.stuck_answer()
    held.engine.cancel(request)
    assert cancelled(held.driver, request).text == ""
    held.driver.first(GenerationFinished, request)


@pytest.mark.parametrize("script", [NO_PREFILL])
def test_cancel_during_decode_keeps_the_text_so_far(held: Held) -> None:
    request = held.stuck_answer()
    held.driver.first(TextDelta, request)
    held.engine.cancel()
    text = cancelled(held.driver, request).text
    assert text
    assert NO_PREFILL.default_answer.startswith(text)


def test_waiting_requests_end_at_once(held: Held) -> None:
    running = held.stuck_answer()
    waiting_load = held.engine.load(LOAD)
    waiting_answer = held.engine.generate(ASK, SamplingSettings())
    held.engine.cancel(waiting_answer)
    held.engine.cancel(waiting_load)
    finished = cancelled(held.driver, waiting_answer)
    assert (finished.text, finished.ttft) == ("", TtftPhases())
    failed_as_cancelled(held.driver, waiting_load)
    assert held.engine.state is EngineState.GENERATING
    held.time.release()
    outcome = held.driver.outcome(running)
    assert isinstance(outcome, GenerationFinished)
    assert outcome.reason is FinishReason.END_OF_TEXT


def test_cancel_all_spares_the_unload(held: Held) -> None:
    running = held.stuck_answer()
    waiting, unload = held.engine.generate(ASK, SamplingSettings()), held.engine.unload()
    held.engine.cancel()
    cancelled(held.driver, running)
    cancelled(held.driver, waiting)
    assert isinstance(held.driver.outcome(unload), ModelUnloaded)
    assert held.engine.model is None


def test_unknown_and_finished_ids_are_ignored(held: Held) -> None:
    held.load()
    held.engine.cancel(1)
    held.engine.cancel(999)
    outcome = held.driver.outcome(held.engine.generate(ASK, SamplingSettings(max_tokens=2)))
    assert isinstance(outcome, GenerationFinished)
    assert outcome.reason is FinishReason.MAX_TOKENS


def test_a_load_waits_for_the_answer_before_it(held: Held) -> None:
    answer = held.stuck_answer()
    load = held.engine.load(LOAD)
    held.time.release()
    held.driver.outcome(load)
    ends = [e.request_id for e in held.driver.events if isinstance(e, (GenerationFinished, ModelLoaded))]
    assert ends[-2:] == [answer, load]


@pytest.mark.parametrize(
    ("phase", "script"), [("load", WITH_PREFILL), ("prefill", WITH_PREFILL), ("decode", NO_PREFILL)]
)
def test_close_takes_under_a_second(held: Held, phase: str) -> None:
    request = held.stuck_load() if phase == "load" else held.stuck_answer()
    waiting = held.engine.generate(ASK, SamplingSettings())
    start = time.monotonic()
    held.engine.close()
    assert time.monotonic() - start < 1
    assert held.engine.state is EngineState.CLOSED
    assert held.engine.model is None
    cancelled(held.driver, waiting)
    if phase == "load":
        failed_as_cancelled(held.driver, request)
    else:
        cancelled(held.driver, request)
