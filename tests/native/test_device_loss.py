"""A device whose server is killed at any moment: an error in words, soon; no hang, and no word is lost."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from engine.backends.base import CancelToken
from engine.backends.llama_cpp import LlamaCppBackend
from engine.config import ChatMessage, LoadSettings, SamplingSettings
from engine.errors import DeviceLostError
from engine.events import (
    EngineState,
    Event,
    GenerationFinished,
    ModelLoaded,
    ModelUnloaded,
    PrefillProgress,
    RequestFailed,
    TextDelta,
)
from engine.native import stop_patience
from tests.native.conftest import TinyModels
from tests.support.device_server import DeviceServer
from tests.support.engine_driver import EngineDriver, running_engine
from tests.support.exact_runs import loaded, prompt_tokens, settings_for

_MOST_SECONDS = 2.0
QUESTION = [ChatMessage("user", "word " * 30)]
GREEDY = SamplingSettings(temperature=0, max_tokens=60)


@contextmanager
def serving(port: int | None = None) -> Iterator[DeviceServer]:
    server = DeviceServer(port)
    try:
        yield server
    finally:
        server.kill()


def on_device(path: Path, server: DeviceServer) -> LoadSettings:
    plain = settings_for(path, None, 4, threads=1)
    return replace(plain, devices=(server.name,), hot_per_layer=1, staging_slots=1)


def loss(driver: EngineDriver, since: float) -> RequestFailed:
    """The error that names the loss; fails if it took too long or was something else."""
    event = driver.until(lambda e: isinstance(e, RequestFailed))
    assert isinstance(event, RequestFailed)
    # “DeviceError”: gone before it was connected
    assert event.error.kind in ("DeviceLostError", "DeviceError"), event.error
    assert event.t_ns / 1e9 - since < _MOST_SECONDS
    return event


def said(driver: EngineDriver) -> str:
    return "".join(e.text for e in driver.events if isinstance(e, TextDelta))


def answer(driver: EngineDriver) -> str:
    """A whole answer, to show that the program is usable."""
    event = driver.outcome(driver.engine.generate(QUESTION, GREEDY))
    assert isinstance(event, GenerationFinished), event
    return event.text


@pytest.fixture(scope="module")
def expected(tiny_models_of_module: Path) -> str:
    """What the model says with the device in peace."""
    with serving() as server, running_engine(LlamaCppBackend) as driver:
        assert isinstance(
            driver.outcome(driver.engine.load(on_device(tiny_models_of_module, server))), ModelLoaded
        )
        return answer(driver)


@pytest.fixture(scope="module")
def tiny_models_of_module(tiny_models: TinyModels) -> Path:
    return tiny_models("qwen3moe")


def _moment(driver: EngineDriver, phase: str, random_numbers: random.Random) -> None:
    """Ask for an answer and wait until it has come as far as the phase wants."""
    if phase == "idle":
        answer(driver)
        driver.events.clear()
        return
    request = driver.engine.generate(QUESTION, GREEDY)
    if phase == "prefill":
        wanted = random_numbers.randrange(4, 120)

        def is_there(event: Event) -> bool:
            return isinstance(event, PrefillProgress) and event.done_tokens >= wanted
    else:
        wanted = random_numbers.randrange(1, 40)

        def is_there(event: Event) -> bool:
            return isinstance(event, TextDelta) and event.completion_tokens >= wanted

    driver.until(lambda e: e.request_id == request and is_there(e))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("phase", ["loading", "prefill", "decode", "idle"])
def test_killed_at_a_random_moment(tiny_models_of_module: Path, expected: str, phase: str, seed: int) -> None:
    random_numbers = random.Random(f"{phase} {seed}")
    with serving() as server, running_engine(LlamaCppBackend) as driver:
        settings = on_device(tiny_models_of_module, server)
        if phase == "loading":
            killer = threading.Timer(random_numbers.uniform(0.005, 0.2), server.kill)
            killer.start()
            driver.outcome(driver.engine.load(settings))
            killer.join()
            killed = time.perf_counter()
        else:
            assert isinstance(driver.outcome(driver.engine.load(settings)), ModelLoaded)
            _moment(driver, phase, random_numbers)
            server.kill()
            killed = time.perf_counter()
        failed = loss(driver, killed)
        assert server.name in failed.error.fault
        assert failed.error.next_step
        driver.until(lambda e: isinstance(e, ModelUnloaded) or phase == "loading")
        assert driver.engine.model is None
        assert expected.startswith(said(driver))  # nothing was made up from what a lost device “computed”
        _reconnects(driver, settings, server.port, expected)


def _reconnects(driver: EngineDriver, settings: LoadSettings, port: int, expected: str) -> None:
    driver.events.clear()
    with serving(port):
        assert isinstance(driver.outcome(driver.engine.load(settings)), ModelLoaded)
        assert answer(driver) == expected
        driver.outcome(driver.engine.unload())
    assert driver.engine.state is EngineState.EMPTY


def test_without_the_device_the_same_model_runs_here(tiny_models_of_module: Path, expected: str) -> None:
    with serving() as server, running_engine(LlamaCppBackend) as driver:
        settings = on_device(tiny_models_of_module, server)
        assert isinstance(driver.outcome(driver.engine.load(settings)), ModelLoaded)
        driver.engine.generate(QUESTION, GREEDY)
        server.kill()
        loss(driver, time.perf_counter())
        driver.events.clear()
        here = replace(settings, devices=(), hot_per_layer=None, staging_slots=None)
        assert isinstance(driver.outcome(driver.engine.load(here)), ModelLoaded)
        assert answer(driver) == expected


def test_stop_ends_even_if_the_device_hangs(
    tiny_models_of_module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stop_patience, "PATIENCE_SECONDS", 0.5)
    token = CancelToken()
    stop = threading.Timer(0.3, token.cancel)
    with serving() as server, loaded(on_device(tiny_models_of_module, server)) as (backend, _):

        def freeze(done: int, _: int) -> None:
            if done == 2 and not stop.is_alive():
                server.freeze()
                stop.start()

        backend.set_layer_listener(freeze)
        started = time.perf_counter()
        with pytest.raises(DeviceLostError, match="did not answer"):
            backend.evaluate(prompt_tokens(100), 0, True, token)
        assert time.perf_counter() - started < _MOST_SECONDS + 0.8
        stop.join()
