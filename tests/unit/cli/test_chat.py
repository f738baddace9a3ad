"""`chat` with the simulated model: streams, turns, stops, JSON."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from engine.backends.base import CancelToken, LoadReport, LoadResult
from engine.backends.fake import FakeBackend
from engine.backends.fake_script import FakeScript
from engine.cli import chat
from engine.config import LoadSettings
from engine.errors import DiskReadError, EngineError
from engine.events import TtftPhases
from tests.support.command_line import Printed, run_engine

_FAST: dict[str, Any] = {
    "load_seconds": 0.0, "initialise_seconds": 0.0, "prefill_token_seconds": 0.0,
    "decode_token_seconds": 0.0, "disk_bytes_per_second": 1e15,
    "answers": (("sky", "It is blue.\n"), ("sea", "It is salty.")), "default_answer": "I see.",
}  # fmt: skip


class _Interrupting(FakeBackend):
    """Presses Ctrl+C before the decoded token of number `at_token`."""

    def __init__(self, script: FakeScript, at_token: int) -> None:
        super().__init__(script)
        self._at_token, self._seen = at_token, 0

    def evaluate(self, tokens: Sequence[int], position: int, is_prefill: bool, cancel: CancelToken) -> None:
        self._seen += not is_prefill
        if not is_prefill and self._seen == self._at_token:
            signal.raise_signal(signal.SIGINT)
            while not cancel.is_cancelled:
                self._wait(0.01, cancel)
        super().evaluate(tokens, position, is_prefill, cancel)


@contextmanager
def backend(**changes: float | EngineError) -> Iterator[list[FakeBackend]]:
    """The command line's simulated backend follows this script; yields those that were made."""
    script = FakeScript(**{**_FAST, **changes})
    made: list[FakeBackend] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chat, "FakeBackend", lambda: made.append(FakeBackend(script)) or made[-1])
        yield made


def ask(*words: str, typed: str = "", is_tty: bool = False) -> Printed:
    return run_engine("chat", "x.gguf", "--backend", "fake", *words, typed=typed, is_tty=is_tty)


def test_one_prompt_prints_the_answer_alone() -> None:
    with backend():
        printed = ask("--prompt", "What of the sky?")
    assert (printed.code, printed.out) == (0, "It is blue.\n")


def test_an_answer_without_line_end_gets_one() -> None:
    with backend():
        assert ask("--prompt", "And the sea?").out == "It is salty.\n"


def test_json_streams_events_and_ends_with_the_result() -> None:
    with backend():
        printed = ask("--prompt", "sky", "--json")
    lines = printed.lines
    last = lines[-1]
    assert printed.code == 0
    assert "".join(line["text"] for line in lines if line["type"] == "text_delta") == "It is blue.\n"
    assert (last["type"], last["text"], last["reason"]) == (
        "generation_finished",
        "It is blue.\n",
        "end_of_text",
    )
    phases = {
        name: ns for name, ns in last["ttft"].items() if name not in ("total_ns", "prefill_disk_wait_ns")
    }
    assert last["ttft"]["total_ns"] == sum(phases.values())
    assert len(phases) == len(TtftPhases.__slots__) - 1
    assert last["usage"]["completion_tokens"] > 0
    assert {"model_loaded", "generation_started", "counters_sampled"} <= {line["type"] for line in lines}


def test_expert_arrays_are_summed_up_in_json() -> None:
    with backend(n_layer=3, n_expert=16, pool_per_layer=8, top_k=4):
        lines = ask("--prompt", "sky", "--json").lines
    sampled = [line for line in lines if line["type"] == "experts_sampled"][-1]
    assert sampled["moe_layers"] == [0, 1, 2]
    assert sum(sampled["experts_by_tier"].values()) == 3 * 16
    assert set(sampled["experts_by_tier"]) == {"disk", "host_window", "host_pool", "hot", "vram"}


def test_piped_lines_are_turns_of_one_conversation() -> None:
    with backend():
        # long enough to be worth re-using
        lines = ask("--json", typed="what can you tell me about the wide and open sky\n\nsea\n").lines
    started = [line for line in lines if line["type"] == "generation_started"]
    finished = [line["text"] for line in lines if line["type"] == "generation_finished"]
    assert finished == ["It is blue.\n", "It is salty."]
    assert started[0]["cached_tokens"] == 0
    # the first prompt starts the second one; its last token changes, since it takes in the word that follows
    assert started[1]["cached_tokens"] >= started[0]["prompt_tokens"] - 1


def test_reset_forgets_the_turns_and_quit_leaves() -> None:
    with backend():
        lines = ask("--json", "--system", "Be brief.", typed="sky\n/reset\nsky\n/quit\nsea\n").lines
    started = [line["prompt_tokens"] for line in lines if line["type"] == "generation_started"]
    assert len(started) == 2
    assert started[0] == started[1]


def test_a_person_gets_a_prompt_and_figures() -> None:
    with backend():
        printed = ask(typed="sky\n", is_tty=True)
    assert printed.out == "> It is blue.\n> "
    assert "/quit" in printed.err
    assert "tok/s" in printed.err
    assert "loaded in 0.0 s, planned " in printed.err


def test_a_failing_load_is_an_error_with_its_exit_code() -> None:
    fault = DiskReadError("The disk failed.", "Check the disk.")
    with backend(load_failure=fault):
        plain, as_json = ask("--prompt", "sky"), ask("--prompt", "sky", "--json")
    assert (plain.code, plain.out) == (1, "")
    assert plain.err.endswith("error: The disk failed. Check the disk.\n")
    assert as_json.lines[-1] == {
        "type": "error", "kind": "DiskReadError", "fault": "The disk failed.", "next_step": "Check the disk.",
    }  # fmt: skip
    assert "request_failed" not in {line["type"] for line in as_json.lines}


def test_a_script_ends_at_the_first_failing_turn_a_person_goes_on() -> None:
    with backend(failing_decode_token=0):
        script = ask(typed="sky\nsea\n")
    with backend(failing_decode_token=0):
        person = ask(typed="sky\nsea\n", is_tty=True)
    assert (script.code, script.out) == (1, "")
    assert person.code == 0
    assert "It is salty." in person.out
    assert "It is blue." not in person.out


@pytest.mark.parametrize("at_token", [1, 3])
def test_interrupt_stops_the_answer_and_keeps_what_was_said(at_token: int) -> None:
    script = FakeScript(**_FAST | {"default_answer": "one two three four five six seven"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chat, "FakeBackend", lambda: _Interrupting(script, at_token))
        printed = ask("--prompt", "count", "--json")
    last = printed.lines[-1]
    assert printed.code == 130
    assert (last["type"], last["reason"]) == ("generation_finished", "cancelled")
    assert "one two three four five six seven".startswith(last["text"])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_person_goes_on_after_an_interrupt() -> None:
    script = FakeScript(**_FAST)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chat, "FakeBackend", lambda: _Interrupting(script, 1))
        printed = ask(typed="sky\nsea\n", is_tty=True)
    assert printed.code == 0
    assert printed.out.endswith("It is salty.\n> ")


def test_settings_reach_the_engine() -> None:
    words = [
        "--ram",
        "5GiB",
        "--ctx",
        "512",
        "--unit",
        "8",
        "--seed",
        "4",
        "--temp",
        "0.5",
        "--top-k",
        "3",
        "--top-p",
        "0.8",
        "--min-p",
        "0.1",
    ]
    with backend():
        lines = ask("--prompt", "sky", "--json", "--max-tokens", "2", *words).lines
    info = next(line["info"] for line in lines if line["type"] == "model_loaded")
    assert (info["context_tokens"], info["unit_tokens"], info["ram_budget_bytes"]) == (512, 8, 5 << 30)
    assert lines[-1]["reason"] == "max_tokens"
    assert lines[-1]["usage"]["completion_tokens"] == 2


def test_without_a_file_the_demo_model_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[tuple[int | None, int | None]] = []

    def settings(ram_budget_bytes: int | None, context_tokens: int | None) -> LoadSettings:
        asked.append((ram_budget_bytes, context_tokens))
        return LoadSettings(tmp_path / "demo.gguf")

    monkeypatch.setattr(chat, "demo_settings", settings)
    with backend():
        printed = run_engine("chat", "--backend", "fake", "--prompt", "sky", "--ctx", "512")
    assert (printed.code, printed.out, asked) == (0, "It is blue.\n", [(None, 512)])


def test_what_is_learned_goes_to_the_data_folder_unless_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    seen: list[Path | None] = []

    class NotingBackend(FakeBackend):
        def load(
            self, settings: LoadSettings, report: Callable[[LoadReport], None], cancel: CancelToken
        ) -> LoadResult:
            seen.append(settings.profile_dir)
            return super().load(settings, report, cancel)

    monkeypatch.setattr(chat, "backend_factory", lambda _: lambda: NotingBackend(FakeScript(**_FAST)))
    for words in ((), ("--profile-dir", "other"), ("--no-profile",)):
        printed = run_engine("chat", "x.gguf", "--prompt", "Hi", "--max-tokens", "1", *words)
        assert printed.code == 0
    assert seen == [tmp_path / "emberglass" / "profiles", Path("other"), None]
