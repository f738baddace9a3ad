"""Exit codes, faults in words, help that loads nothing."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from engine.cli import inspect_model
from engine.cli.main import main
from tests.support.command_line import run_engine
from tests.support.models import tiny_model


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ((), "COMMAND"),
        (("sing",), "sing"),
        (("inspect",), "FILE"),
        (("inspect", "a.gguf", "--loud"), "--loud"),
        (("chat", "a.gguf", "--ram", "6 apples"), "“6 apples” is not a size"),
        (("chat", "a.gguf", "--ram", "0"), "above 0"),
        (("chat", "a.gguf", "--unit", "many"), "“many” is not a whole number"),
        (("chat", "a.gguf", "--routing", "fast"), "“fast” is not a routing policy"),
        (("chat", "a.gguf", "--temp", "-1"), "temperature must be 0 or more"),
        (("chat", "a.gguf", "--min-p", "1"), "min-p must be at least 0 and below 1"),
        (("make-model", "out.gguf", "--layers", "0"), "above 0"),
        (("make-model", "out.gguf", "--top-k", "9", "--experts", "8"), "top_k"),
        (("bench", "a.gguf", "--unit", "16,,3"), "whole number"),
        (("bench", "a.gguf", "--compare", "vllm"), "vllm"),
    ],
)
def test_bad_usage_is_told_in_words_with_exit_code_2(words: tuple[str, ...], part: str) -> None:
    printed = run_engine(*words)
    assert (printed.code, printed.out) == (2, "")
    assert printed.err.startswith("error: ")
    assert part in printed.err
    assert "Traceback" not in printed.err


def test_bad_usage_in_json_is_one_error_document() -> None:
    printed = run_engine("inspect", "--json")
    error = json.loads(printed.out)
    assert (printed.code, printed.err) == (2, "")
    assert (error["type"], error["kind"]) == ("error", "UsageError")
    assert "FILE" in error["fault"]
    assert error["next_step"] == "See “python -m engine inspect --help”."


@pytest.mark.parametrize("command", ["inspect", "bench"])
@pytest.mark.parametrize(
    ("content", "kind"), [(None, "ModelFileError"), (b"", "ModelFileError"), (b"JFIF" * 99, "ModelFileError")]
)
def test_wrong_files_are_named_faults(tmp_path: Path, command: str, content: bytes | None, kind: str) -> None:
    path = tmp_path / "wrong.gguf"
    if content is not None:
        path.write_bytes(content)
    printed = run_engine(command, str(path), "--json")
    assert printed.code == 2
    assert printed.lines[-1]["kind"] == kind
    assert "wrong.gguf" in printed.lines[-1]["fault"]
    assert printed.lines[-1]["next_step"]


def test_truncated_model_is_a_named_fault(tmp_path: Path) -> None:
    path = tiny_model("qwen3moe", tmp_path)
    path.write_bytes(path.read_bytes()[:-5000])
    printed = run_engine("inspect", str(path))
    assert printed.code == 2
    assert printed.err.startswith("error: ")


def test_unforeseen_fault_keeps_details_for_verbose(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(inspect_model, "read_model", fail)
    quiet, verbose = run_engine("inspect", "a"), run_engine("inspect", "a", "--verbose")
    assert (quiet.code, verbose.code) == (1, 1)
    assert "Internal fault in the engine: ZeroDivisionError." in quiet.err
    assert "secret detail" not in quiet.err
    assert "secret detail" in verbose.err


def test_interrupt_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(path: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(inspect_model, "read_model", interrupt)
    assert run_engine("inspect", "a") == type(run_engine("inspect", "a"))(130, "", "")


class _ClosedPipe(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    stderr = io.StringIO()
    path = tiny_model("qwen3moe", tmp_path)
    assert main(["inspect", str(path)], io.StringIO(), _ClosedPipe(), stderr) == 1
    assert main(["inspect", "--json"], io.StringIO(), _ClosedPipe(), stderr) == 2
    assert stderr.getvalue() == ""


def test_help_lists_commands_and_their_options() -> None:
    top = run_engine("--help")
    assert top.code == 0
    assert all(name in top.out for name in ("inspect", "chat", "bench", "make-model"))
    chat = run_engine("chat", "--help")
    assert chat.code == 0
    assert all(flag in chat.out for flag in ("--prompt", "--ram", "--unit", "--json", "--repeat-penalty"))
    assert "--backend" not in chat.out


_NATIVE_AFTER = """
import sys
from engine.cli.main import main
code = main(sys.argv[1:])
print(code, sorted(m for m in sys.modules if m.partition(".")[0] in ("llama_cpp", "PySide6", "numpy")))
"""


@pytest.mark.parametrize("words", [["--help"], ["--version"]])
def test_help_and_version_load_no_libraries(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _NATIVE_AFTER, *words], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "0 []"


@pytest.mark.parametrize("command", ["chat", "bench", "inspect", "make-model"])
def test_help_of_a_command_never_loads_llama_cpp(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _NATIVE_AFTER.replace('"numpy"', '"torch"'), command, "--help"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "0 []"
