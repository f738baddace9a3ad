"""Faults end a request and nothing else."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from engine.backends.base import CancelToken, InferenceBackend
from engine.backends.fake import FakeBackend
from engine.backends.fake_script import FakeScript
from engine.config import ChatMessage, LoadSettings, SamplingSettings
from engine.errors import AbiError, ModelFileError
from engine.events import (
    CountersSampled,
    EngineState,
    FinishReason,
    GenerationFinished,
    LoadPhase,
    LoadProgress,
    ModelLoaded,
    ModelUnloaded,
    RequestFailed,
    StateChanged,
)
from tests.support.engine_driver import EngineDriver, running_engine
from tests.support.virtual_time import VirtualTime

LOAD = LoadSettings(Path("simulated.gguf"))
ASK = (ChatMessage("user", "Hello"),)


def backend(script: FakeScript, kind: type[FakeBackend] = FakeBackend) -> FakeBackend:
    time = VirtualTime()
    return kind(script, time.clock, time.sleep)


def failure(driver: EngineDriver, request: int) -> RequestFailed:
    outcome = driver.outcome(request)
    assert isinstance(outcome, RequestFailed)
    return outcome


def answer(driver: EngineDriver) -> GenerationFinished:
    outcome = driver.outcome(driver.engine.generate(ASK, SamplingSettings()))
    assert isinstance(outcome, GenerationFinished)
    return outcome


def test_failed_load_frees_everything_and_the_next_works() -> None:
    fault = ModelFileError("The file is cut short.", "Get it again.")
    scripts = itertools.chain([FakeScript(load_failure=fault)], itertools.repeat(FakeScript()))

    class TurningGood(FakeBackend):
        def load(self, *arguments: object) -> object:  # type: ignore[override] - passes all on
            self._script = next(scripts)
            return super().load(*arguments)  # type: ignore[arg-type] - passes all on

    with running_engine(lambda: backend(FakeScript(), TurningGood)) as driver:
        load = driver.engine.load(LOAD)
        assert failure(driver, load).error == fault.info
        driver.until(lambda e: isinstance(e, StateChanged) and e.state is EngineState.EMPTY)
        assert driver.engine.model is None
        dense = [e for e in driver.events if isinstance(e, LoadProgress) and e.phase is LoadPhase.DENSE_READ]
        assert 0 < dense[-1].done_bytes < dense[-1].total_bytes
        assert isinstance(driver.outcome(driver.engine.load(LOAD)), ModelLoaded)
        assert answer(driver).reason is FinishReason.END_OF_TEXT


def test_a_backend_that_cannot_start_is_tried_again() -> None:
    attempts = itertools.count()

    def factory() -> InferenceBackend:
        if next(attempts) == 0:
            raise AbiError("Wrong library.", "Install the right one.")
        return backend(FakeScript())

    with running_engine(factory) as driver:
        assert failure(driver, driver.engine.load(LOAD)).error.kind == "AbiError"
        assert isinstance(driver.outcome(driver.engine.load(LOAD)), ModelLoaded)


def test_read_fault_in_decode_is_reported_and_the_next_answer_is_whole() -> None:
    script = FakeScript(failing_decode_token=5)
    with running_engine(lambda: backend(script)) as driver:
        driver.engine.load(LOAD)
        request = driver.engine.generate(ASK, SamplingSettings())
        assert failure(driver, request).error.kind == "DiskReadError"
        counters = [e.counters for e in driver.events if isinstance(e, CountersSampled)][-1]
        assert counters.read_errors == 1
        assert counters.decode_tokens == 4
        assert answer(driver).text == script.default_answer


def test_unforeseen_fault_is_named_and_nothing_cached_is_trusted() -> None:
    class Breaking(FakeBackend):
        """Breaks once, at the tenth call."""

        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments)  # type: ignore[arg-type] - passes all on
            self._calls = itertools.count(1)

        def evaluate(
            self, tokens: Sequence[int], position: int, is_prefill: bool, cancel: CancelToken
        ) -> None:
            if next(self._calls) == 10:
                raise ZeroDivisionError("a bug")
            super().evaluate(tokens, position, is_prefill, cancel)

    with running_engine(lambda: backend(FakeScript(), Breaking)) as driver:
        driver.engine.load(LOAD)
        error = failure(driver, driver.engine.generate(ASK, SamplingSettings())).error
        assert (error.kind, error.detail) == ("InternalError", "ZeroDivisionError('a bug')")
        assert driver.engine.model is not None
        finished = answer(driver)
        assert finished.text == FakeScript().default_answer
        assert finished.usage.cached_tokens == 0
        assert driver.engine.state in (EngineState.GENERATING, EngineState.READY)


def test_unusable_template_is_replaced_and_noted() -> None:
    class BadTemplate(FakeBackend):
        def chat_template(self) -> str | None:
            return "{% for %}"

    with running_engine(lambda: backend(FakeScript(), BadTemplate)) as driver:
        loaded = driver.outcome(driver.engine.load(LOAD))
        assert isinstance(loaded, ModelLoaded)
        assert "chat template" in loaded.info.notes[-1]
        assert driver.engine.model == loaded.info
        assert answer(driver).text == FakeScript().default_answer


def test_a_second_load_frees_the_first_model_by_name() -> None:
    with running_engine(lambda: backend(FakeScript())) as driver:
        driver.outcome(driver.engine.load(LOAD))
        second = driver.engine.load(LOAD)
        driver.outcome(second)
    unloads = [e for e in driver.events if isinstance(e, ModelUnloaded)]
    loads = [e for e in driver.events if isinstance(e, ModelLoaded)]
    # one makes room for the second model, one tells of the close
    assert [e.request_id for e in unloads] == [0, 0]
    assert loads[0].seq < unloads[0].seq < loads[1].seq < unloads[1].seq
