"""Runs one measured child process under the memory cap and brings its report back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from engine import errors
from engine.cli.bench_records import BenchTask, ChildReport
from engine.cli.memory_cap import capped_group
from engine.config import format_size
from engine.errors import EngineError

_PROJECT = Path(__file__).resolve().parents[2]


def run_child(task: BenchTask, cap_bytes: int | None, timeout_seconds: float) -> tuple[ChildReport, str]:
    """The child's report, and why the cap is not enforced ("" if it is, or none was asked for).

    Raises the child's own fault, or EngineError when it died or took too long.
    """
    command = [sys.executable, "-m", "engine.cli.bench_child", task.to_json()]
    with capped_group(cap_bytes) as group:
        try:
            done = subprocess.run(
                group.wrap(command),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=timeout_seconds,
                env=_environment(),
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise EngineError(
                f"The {task.side} side took more than {timeout_seconds:.0f} s and was stopped.",
                "Ask for fewer tokens (--decode-tokens, --stock-decode-tokens) or more time (--timeout).",
            ) from error
        report = parse_outcome(task, done.returncode, done.stdout, done.stderr, cap_bytes)
        return replace(report, group_peak_bytes=group.peak_bytes()), group.refusal


def _environment() -> dict[str, str]:
    """The child must find the same `engine` package, wherever it was started."""
    paths = [str(_PROJECT), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}


def parse_outcome(task: BenchTask, code: int, stdout: str, stderr: str, cap_bytes: int | None) -> ChildReport:
    """The report in `stdout`; otherwise raises what went wrong."""
    if code == -signal.SIGKILL and cap_bytes is not None:
        raise EngineError(
            f"The {task.side} side was killed: it did not fit into {format_size(cap_bytes)}.",
            "Raise --cap, or lower --ram.",
        )
    line = stdout.strip().rpartition("\n")[2]
    try:
        document = json.loads(line)
    except ValueError as error:
        raise EngineError(
            f"The {task.side} side ended without a result (exit code {code}).",
            "Add --verbose for what it printed.",
            stderr[-4000:],
        ) from error
    if document.get("type") == "error":
        kind = getattr(errors, document["kind"], EngineError)
        settings = tuple(document["settings"])
        raise kind(document["fault"], document["next_step"], document["detail"], settings)
    return ChildReport.from_json(line)
