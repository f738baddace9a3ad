"""`bench FILE`: load, prefill and decode, cold, warm and rotating; also against stock llama.cpp."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from engine.cli.arguments import (
    add_devices,
    add_file,
    add_hot,
    add_loading,
    add_routing,
    natural,
    positive,
    repack,
    size_bytes,
    unit_tokens,
)
from engine.cli.bench_document import bench_document
from engine.cli.bench_plot import check_plot, save_plot
from engine.cli.bench_session import BenchSession
from engine.cli.bench_table import bench_markdown, bench_text
from engine.cli.terminal import Terminal
from engine.config import Repack
from engine.errors import UsageError

_Value = TypeVar("_Value")
_LIMIT_WORDS = (
    "the limit of a prompt is the longer of two times: the bytes that really have to be read, at the rate of "
    "direct reads of expert slices from this drive, and computing it with every expert in memory (weights "
    "laid out alike); both are measured in the same run, the second without the cap. With --no-limit it is "
    "left out"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `bench`."""
    add_file(parser)
    add_loading(parser)
    add_routing(parser)
    add_hot(parser)
    add_devices(parser)
    _add_cases(parser)
    parser.add_argument("--decode-tokens", type=natural, default=32, metavar="N", help="(32)")
    parser.add_argument(
        "--compare",
        choices=("stock", "stock-repacked"),
        help="also run stock llama.cpp, alternating with ours: as the file is, or with weights rewritten for "
        "its fastest kernels (takes memory for all of them)",
    )
    parser.add_argument(
        "--stock-decode-tokens", type=natural, default=8, metavar="N",
        help="tokens stock decodes; it may take seconds for each (8)",
    )  # fmt: skip
    parser.add_argument(
        "--cap", type=size_bytes, metavar="SIZE",
        help="memory limit of each measured process; without --ram, 92 %% of it is the budget",
    )  # fmt: skip
    parser.add_argument("--repeat", type=positive, default=1, metavar="N", help="medians of so many runs (1)")
    parser.add_argument("--seed", type=natural, default=1, metavar="N", help="chooses the prompts (1)")
    parser.add_argument("--markdown", action="store_true", help="print a Markdown document")
    parser.add_argument(
        "--plot", type=Path, metavar="FILE.png", help="also draw a picture (needs the extra “plot”)"
    )
    parser.add_argument("--no-limit", action="store_true", help=_LIMIT_WORDS)
    parser.add_argument(
        "--timeout", type=positive, default=1800, metavar="SECONDS", help="for one measured process (1800)"
    )


def _add_cases(parser: argparse.ArgumentParser) -> None:
    """What is measured in every combination."""
    parser.add_argument(
        "--prompt-tokens", type=_listed(positive), default=(64,), metavar="N,..", help="prompt lengths (64)"
    )
    parser.add_argument(
        "--unit", type=_listed(unit_tokens), default=(None,), metavar="N,..",
        help="prefill units, such as 3,16,64,auto (auto)",
    )  # fmt: skip
    parser.add_argument(
        "--repack", type=_listed(repack), default=(Repack.AUTO,), metavar="auto,on,off",
        help="lay weights out for the processor's fastest kernels as they enter slots: where that pays, "
        "always, never (auto)",
    )  # fmt: skip


def _listed(value_of: Callable[[str], _Value]) -> Callable[[str], tuple[_Value, ...]]:
    """Turns “a,b” into values, none of them twice."""

    def values(text: str) -> tuple[_Value, ...]:
        found = tuple(value_of(word.strip()) for word in text.split(","))
        if len(set(found)) != len(found):
            raise argparse.ArgumentTypeError(f"“{text}” names a value twice")
        return found

    return values


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Measure and print one document or table."""
    if arguments.cap and arguments.ram and arguments.ram > arguments.cap:
        raise UsageError("The budget (--ram) is above the cap (--cap).", "Lower --ram or raise --cap.")
    if arguments.markdown and terminal.is_json:
        raise UsageError("--markdown and --json are two forms of one document.", "Leave one of them out.")
    if arguments.plot is not None:
        check_plot(arguments.plot)
    session = BenchSession.prepare(arguments, terminal.note)
    session.measure()
    document = bench_document(session)
    if arguments.plot is not None:
        save_plot(document, arguments.plot)
    if terminal.is_json:
        terminal.document(document)
    else:
        terminal.write(bench_markdown(document) if arguments.markdown else bench_text(document))
    return 0
