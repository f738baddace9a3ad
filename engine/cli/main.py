"""Entry of the command line: finds the command, runs it, turns every fault into words and an exit code."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib.metadata import PackageNotFoundError, version
from typing import NoReturn, Protocol, TextIO

from engine.cli.terminal import Terminal
from engine.errors import ErrorInfo, UsageError, error_info

OK, FAILED, BAD_USAGE, INTERRUPTED = 0, 1, 2, 130

# module and summary; a command's module is imported only when it is asked for, so that --help is fast
_COMMANDS = {
    "inspect": ("inspect_model", "facts about a model file: layers, experts, sizes, types"),
    "plan": ("plan", "where the bytes of a model would go in memory, and what to expect of it"),
    "chat": ("chat", "answer one prompt, or talk with the model"),
    "bench": ("bench", "measure load, prefill and decode, cold and warm, also against stock llama.cpp"),
    "fidelity": ("fidelity", "what resident routing changes in answers, against exact routing"),
    "warmup": ("warmup", "bring the likeliest experts into memory and keep what was learned"),
    "simulate": ("simulate", "hit rates of cache policies on a recorded run, beside the best possible"),
    "replay": ("replay", "figures of a run that was recorded in the window"),
    "serve-device": ("serve_device", "lend this machine's memory to a program on another one"),
    "make-model": ("make_model", "write a synthetic model of random weights, for measurements"),
}


class Command(Protocol):
    """What a command module offers."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, arguments: argparse.Namespace, terminal: Terminal) -> int: ...


class _Parser(argparse.ArgumentParser):
    """Reports bad usage as a UsageError, so that it is told like every other fault."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message[:1].upper()}{message[1:].rstrip('.')}.", f"See “{self.prog} --help”.")


def main(
    argv: Sequence[str] | None = None,
    stdin: TextIO | None = None,
    stdout: TextIO | None = None,
    stderr: TextIO | None = None,
) -> int:
    """Run one command and return its exit code: 0 ok, 1 failed, 2 bad usage or file, 130 interrupted."""
    words = list(sys.argv[1:] if argv is None else argv)
    terminal = Terminal(stdin or sys.stdin, stdout or sys.stdout, stderr or sys.stderr)
    terminal.is_json, terminal.is_verbose = "--json" in words, "--verbose" in words
    try:
        return _run(words, terminal)
    except BrokenPipeError:
        _forget_stdout(terminal)
        return FAILED
    except KeyboardInterrupt:
        terminal.clear_progress()
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last stop: no traceback ever reaches the user
        return _tell(error_info(error), terminal)


def _run(words: list[str], terminal: Terminal) -> int:
    try:
        with redirect_stdout(terminal.stdout), redirect_stderr(terminal.stderr):
            command, arguments = _parse(words)
    except SystemExit as end:  # --help and --version
        return end.code if isinstance(end.code, int) else OK
    terminal.is_json, terminal.is_verbose = arguments.json, arguments.verbose
    code = command.run(arguments, terminal)
    terminal.stdout.flush()
    return code


def _parse(words: list[str]) -> tuple[Command, argparse.Namespace]:
    parser = _Parser(prog="python -m engine", description="Runs MoE models that are larger than memory.")
    parser.add_argument("--version", action="version", version=f"emberglass {_version()}")
    choices = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    wanted = next((word for word in words if not word.startswith("-")), None)
    modules: dict[str, Command] = {}
    for name, (module_name, summary) in _COMMANDS.items():
        command_parser = choices.add_parser(name, help=summary, description=f"{name}: {summary}.")
        if name == wanted:
            modules[name] = importlib.import_module(f"engine.cli.{module_name}")
            modules[name].add_arguments(command_parser)
        command_parser.add_argument("--json", action="store_true", help="machine-readable output")
        command_parser.add_argument("--verbose", action="store_true", help="technical details of faults")
    arguments = parser.parse_args(words)
    return modules[arguments.command], arguments


def _version() -> str:
    try:
        return version("emberglass")
    except PackageNotFoundError:
        return "from source"


def _tell(info: ErrorInfo, terminal: Terminal) -> int:
    try:
        terminal.fault(info)
    except BrokenPipeError:
        _forget_stdout(terminal)
    return info.exit_code


def _forget_stdout(terminal: Terminal) -> None:
    """The reader went away: keep the interpreter from complaining about it when it flushes at exit."""
    if terminal.stdout is sys.__stdout__:
        os.dup2(os.open(os.devnull, os.O_WRONLY), terminal.stdout.fileno())
