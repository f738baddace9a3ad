"""`warmup` with the simulated model."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.backends.base import CancelToken, WarmUpReport, WarmUpResult
from engine.backends.fake import FakeBackend
from engine.backends.fake_script import FakeScript
from engine.cli import warmup
from tests.support.command_line import run_engine
from tests.support.virtual_time import VirtualTime

_FAKE = ("warmup", "x.gguf", "--backend", "fake")


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    time = VirtualTime()
    monkeypatch.setattr(
        warmup, "backend_factory", lambda _: lambda: FakeBackend(FakeScript(), time.clock, time.sleep)
    )


def test_a_prompt_is_measured_on_both_sides() -> None:
    printed = run_engine(*_FAKE, "--prompt", "Say something about experts.", "--json")
    assert printed.code == 0
    document = json.loads(printed.out)
    before, after, warm_up = document["before"], document["after"], document["warm_up"]
    assert before["prompt_tokens"] == after["prompt_tokens"] > 5
    assert after["disk_share"] < before["disk_share"]
    assert after["hit_rate"] >= before["hit_rate"]
    assert after["bytes_read"] < before["bytes_read"]
    assert warm_up["experts_loaded"] > 0
    assert warm_up["expected_hit_rate_after"] > warm_up["expected_hit_rate_before"]
    assert document["profile_dir"].endswith("profiles")


def test_without_a_prompt_only_the_pass() -> None:
    document = json.loads(run_engine(*_FAKE, "--no-profile", "--json").out)
    assert (document["before"], document["after"], document["profile_dir"]) == (None, None, None)


def test_words() -> None:
    printed = run_engine(*_FAKE, "--prompt", "Hello", "--profile-dir", "some where")
    assert "| prefill " in printed.out
    assert "expected hit rate" in printed.out
    assert "simulated" in printed.err
    assert not Path("some where").exists()  # the simulated model keeps nothing


def test_a_prompt_that_does_not_fit_is_refused() -> None:
    printed = run_engine(*_FAKE, "--prompt", "one two three four five six seven", "--ctx", "4", "--json")
    assert printed.code == 1
    assert printed.lines[-1]["kind"] == "ContextFullError"


@pytest.mark.parametrize("prompt", [(), ("--prompt", "Hello")])
def test_ctrl_c_ends_it_quietly_and_frees_the_model(
    monkeypatch: pytest.MonkeyPatch, prompt: tuple[str, ...]
) -> None:
    class Interrupting(FakeBackend):
        is_freed = False

        def warm_up(self, report: Callable[[WarmUpReport], None], cancel: CancelToken) -> WarmUpResult:
            signal.raise_signal(signal.SIGINT)
            return super().warm_up(report, cancel)

        def unload(self) -> None:
            super().unload()
            self.is_freed = True

    time, backends = VirtualTime(), list[Interrupting]()

    def make() -> FakeBackend:
        backends.append(Interrupting(FakeScript(), time.clock, time.sleep))
        return backends[0]

    monkeypatch.setattr(warmup, "backend_factory", lambda _: make)
    printed = run_engine(*_FAKE, *prompt)
    assert (printed.code, printed.out, printed.err) == (130, "", "")
    assert [backend.is_freed for backend in backends] == [True]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
