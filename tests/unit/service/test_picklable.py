"""Commands and events cross processes: every one of them survives pickling."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path
from types import ModuleType

import numpy as np

from engine import commands, events
from engine.backends.fake import FakeBackend
from engine.backends.fake_script import FakeScript
from engine.config import ChatMessage, LoadSettings, SamplingSettings
from engine.errors import ErrorInfo, ModelFileError
from engine.events import Event, ExpertsSampled
from tests.support.engine_driver import running_engine
from tests.support.virtual_time import VirtualTime

LOAD = LoadSettings(Path("simulated.gguf"))
COMMANDS = (
    commands.Load(request_id=1, queued_ns=2, settings=LOAD),
    commands.Adjust(request_id=1, queued_ns=2, settings=LOAD),
    commands.Unload(request_id=1, queued_ns=2),
    commands.Generate(
        request_id=1, queued_ns=2, messages=(ChatMessage("user", "a"),), sampling=SamplingSettings()
    ),
    commands.WarmUp(request_id=1, queued_ns=2),
    commands.CountTokens(request_id=1, queued_ns=2, messages=(ChatMessage("user", "a"),)),
)


def all_kinds_of(base: type, module: ModuleType) -> set[type]:
    kinds = {value for value in vars(module).values() if isinstance(value, type) and issubclass(value, base)}
    return kinds - {base}


def every_event() -> list[Event]:
    """Events of a run that meets all kinds: load, answer, unload, and a request that fails."""

    def backend() -> FakeBackend:
        time = VirtualTime()
        return FakeBackend(FakeScript(), time.clock, time.sleep)

    with running_engine(backend) as driver:
        driver.engine.load(LOAD)
        driver.outcome(driver.engine.generate((ChatMessage("user", "a"),), SamplingSettings()))
        driver.outcome(driver.engine.count_tokens((ChatMessage("user", "a"),)))
        driver.outcome(driver.engine.warm_up())
        driver.outcome(driver.engine.adjust(LOAD))
        driver.outcome(driver.engine.unload())
        driver.outcome(driver.engine.generate((ChatMessage("user", "a"),), SamplingSettings()))
    return driver.events


def test_every_kind_of_event() -> None:
    produced = every_event()
    assert {type(event) for event in produced} == all_kinds_of(Event, events)
    for event in produced:
        copy = pickle.loads(pickle.dumps(event))
        if isinstance(event, ExpertsSampled):
            assert np.array_equal(copy.tiers, event.tiers)
            assert not event.tiers.flags.writeable
            assert copy.moe_layers == event.moe_layers
        else:
            assert copy == event


def test_every_kind_of_command() -> None:
    assert {type(command) for command in COMMANDS} == all_kinds_of(commands.Command, commands)
    for command in COMMANDS:
        assert pickle.loads(pickle.dumps(command)) == command
        assert command.__dataclass_params__.frozen  # type: ignore[attr-defined] - set by dataclass()


def test_failures_and_scripts() -> None:
    script = FakeScript(load_failure=ModelFileError("Cut short.", "Get it again.", "at byte 7"))
    copy = pickle.loads(pickle.dumps(script))
    assert copy.load_failure.info == ErrorInfo(
        "ModelFileError", "Cut short.", "Get it again.", "at byte 7", 2
    )
    assert dataclasses.replace(copy, load_failure=None) == FakeScript()
