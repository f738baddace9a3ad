"""A lost device ends its model, whether somebody asks for something or not; the next load works."""

from __future__ import annotations

from pathlib import Path

from engine.config import ChatMessage, LoadSettings, SamplingSettings
from engine.errors import DeviceLostError
from engine.events import EngineState, ModelLoaded, ModelUnloaded, RequestFailed, StateChanged
from tests.support.engine_driver import running_engine
from tests.support.scripted_backend import ScriptedBackend

LOAD = LoadSettings(Path("model.gguf"))
LOST = DeviceLostError("The device “card” is gone.", "Load the model again.")


def test_a_loss_while_idle_is_told_unasked() -> None:
    backend = ScriptedBackend()
    with running_engine(lambda: backend) as driver:
        driver.outcome(driver.engine.load(LOAD))
        backend.lost = LOST
        told = driver.until(lambda e: isinstance(e, RequestFailed))
        assert isinstance(told, RequestFailed)
        assert (told.request_id, told.error) == (0, LOST.info)
        driver.until(lambda e: isinstance(e, ModelUnloaded))
        driver.until(lambda e: isinstance(e, StateChanged) and e.state is EngineState.EMPTY)
        backend.lost = None
        assert isinstance(driver.outcome(driver.engine.load(LOAD)), ModelLoaded)


def test_a_loss_in_an_answer_fails_it_and_frees_the_model() -> None:
    backend = ScriptedBackend(b"words")

    def lose(number: int) -> None:
        if number == 3:
            raise LOST

    backend.on_evaluate = lose
    with running_engine(lambda: backend) as driver:
        driver.outcome(driver.engine.load(LOAD))
        request = driver.engine.generate((ChatMessage("user", "Hello"),), SamplingSettings())
        failed = driver.outcome(request)
        assert isinstance(failed, RequestFailed)
        assert failed.error == LOST.info
        driver.until(lambda e: isinstance(e, ModelUnloaded))
        assert driver.engine.model is None
