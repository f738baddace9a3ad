"""The command line of the window; answered without Qt."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.version import program_version
from engine.config import SamplingSettings, parse_size_bytes
from engine.errors import UsageError

LOG_LEVELS = ("debug", "info", "warning", "error")
_EPILOG = (
    "Exit codes: 0 normal end (also after SIGTERM, once everything is saved), 1 failed, 2 bad usage, "
    "130 interrupted by Ctrl+C. Without a display, “python -m engine chat FILE” works in a terminal."
)


@dataclass(frozen=True, slots=True)
class Arguments:
    """What the user asked for; None means the program chooses."""

    model: Path | None = None
    data_dir: Path | None = None
    is_simulated: bool = False
    ram_budget_bytes: int | None = None
    context_tokens: int | None = None
    log_level: str = "info"
    temperature: float | None = None


def parse_arguments(argv: Sequence[str] | None = None) -> Arguments:
    """Raises SystemExit: 0 after --help and --version, 2 for bad usage."""
    found = _parser().parse_args(argv)
    return Arguments(
        found.model, found.data_dir, found.simulate, found.ram, found.ctx, found.log_level, found.temp
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="emberglass",
        description="Chat with mixture-of-experts models larger than memory; see where every expert lives.",
        epilog=_EPILOG,
    )
    parser.add_argument("model", nargs="?", type=Path, metavar="FILE.gguf", help="model to load at once")
    parser.add_argument(
        "--data-dir", type=Path, metavar="DIR", help="keep conversations, settings and logs here"
    )
    parser.add_argument("--simulate", action="store_true", help="use a simulated model; no file is read")
    parser.add_argument("--ram", type=_size_bytes, metavar="SIZE", help="memory for the model, like 6GiB")
    parser.add_argument("--ctx", type=_token_count, metavar="N", help="context window in tokens")
    parser.add_argument(
        "--temp", type=_temperature, metavar="T", help="temperature; 0 always picks the likeliest"
    )
    parser.add_argument("--log-level", choices=LOG_LEVELS, default="info", help="detail of the log file")
    parser.add_argument("--version", action="version", version=f"Emberglass {program_version()}")
    return parser


def _size_bytes(text: str) -> int:
    try:
        size_bytes = parse_size_bytes(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if size_bytes <= 0:
        raise argparse.ArgumentTypeError("the memory must be above 0; leave it out for automatic.")
    return size_bytes


def _token_count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"“{text}” is not a number of tokens above 0, like 4096.")
    return int(text)


def _temperature(text: str) -> float:
    try:
        return SamplingSettings(temperature=float(text)).temperature
    except (ValueError, UsageError) as error:
        raise argparse.ArgumentTypeError(f"“{text}” is not a temperature, like 0 or 0.7.") from error
