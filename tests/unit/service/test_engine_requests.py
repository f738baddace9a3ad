"""Requests to the engine: order, outcomes, states."""

from __future__ import annotations

import threading
from pathlib import Path

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
    StateChanged,
    TextDelta,
)
from tests.support.engine_driver import EngineDriver, running_engine
from tests.support.virtual_time import VirtualTime

LOAD = LoadSettings(Path("simulated.gguf"))
ASK = (ChatMessage("user", "Hello"),)


def quick_backend(**changes: object) -> FakeBackend:
    time = VirtualTime()
    script = FakeScript(default_answer="One two three.", **changes)  # type: ignore[arg-type] - test shorthand
    return FakeBackend(script, time.clock, time.sleep)


def states(driver: EngineDriver) -> list[EngineState]:
    return [event.state for event in driver.events if isinstance(event, StateChanged)]


def test_load_and_answer() -> None:
    with running_engine(quick_backend) as driver:
        load, ask = driver.engine.load(LOAD), driver.engine.generate(ASK, SamplingSettings())
        answer = driver.outcome(ask)
        assert driver.engine.model is not None
        assert driver.engine.model.name.startswith("Simulated")
    assert isinstance(driver.outcome(load), ModelLoaded)
    assert isinstance(answer, GenerationFinished)
    assert (answer.text, answer.reason) == ("One two three.", FinishReason.END_OF_TEXT)
    deltas = [e for e in driver.events if isinstance(e, TextDelta) and e.request_id == ask]
    assert "".join(delta.text for delta in deltas) == answer.text
    assert states(driver) == [
        EngineState.LOADING,
        EngineState.READY,
        EngineState.GENERATING,
        EngineState.READY,
        EngineState.CLOSED,
    ]


def test_events_are_numbered_without_gaps_when_drained_in_time() -> None:
    with running_engine(quick_backend) as driver:
        driver.engine.load(LOAD)
        driver.outcome(driver.engine.generate(ASK, SamplingSettings()))
    assert [event.seq for event in driver.events] == list(range(1, len(driver.events) + 1))
    times = [event.t_ns for event in driver.events]
    assert times == sorted(times)


def test_requests_end_in_the_order_they_were_made() -> None:
    with running_engine(quick_backend) as driver:
        engine = driver.engine
        requests = [
            engine.load(LOAD),
            engine.generate(ASK, SamplingSettings()),
            engine.generate(ASK, SamplingSettings()),
            engine.unload(),
        ]
        driver.outcome(requests[-1])
    ends = [
        e.request_id for e in driver.events if isinstance(e, (ModelLoaded, GenerationFinished, ModelUnloaded))
    ]
    assert ends == requests


def test_unload_without_model_still_answers() -> None:
    with running_engine(quick_backend) as driver:
        assert isinstance(driver.outcome(driver.engine.unload()), ModelUnloaded)
        assert driver.engine.state is EngineState.EMPTY


def test_generate_without_model_says_what_to_do() -> None:
    with running_engine(quick_backend) as driver:
        failure = driver.outcome(driver.engine.generate(ASK, SamplingSettings()))
    assert isinstance(failure, RequestFailed)
    assert failure.error.kind == "StateError"
    assert "Load a model" in failure.error.next_step


def test_requests_after_close_fail_by_name() -> None:
    with running_engine(quick_backend) as driver:
        driver.close()
        failure = driver.outcome(driver.engine.load(LOAD))
        driver.engine.close()
    assert isinstance(failure, RequestFailed)
    assert failure.error.kind == "StateError"
    assert driver.engine.state is EngineState.CLOSED


def test_no_thread_is_left() -> None:
    with running_engine(quick_backend) as driver:
        driver.outcome(driver.engine.load(LOAD))
        assert "emberglass-engine" in {thread.name for thread in threading.enumerate()}
    assert "emberglass-engine" not in {thread.name for thread in threading.enumerate()}
