"""`fidelity FILE --text F`: what resident routing changes, against exact routing on the same text."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from engine.cli.arguments import add_file, add_loading, natural, positive
from engine.cli.chat import llama_backend
from engine.cli.fidelity_runs import FidelityTask, measure_fidelity
from engine.cli.table import markdown_table
from engine.cli.terminal import Terminal
from engine.config import LoadSettings, Repack
from engine.errors import UsageError
from engine.generation.fidelity import FidelityFigures

_DEFAULT_SLOTS, _DEFAULT_SEEDS = (20,), (1, 2, 3)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `fidelity`."""
    add_file(parser)
    parser.add_argument(
        "--text", type=Path, required=True, metavar="F", help="UTF-8 text to read, of the kind you care about"
    )
    add_loading(parser)
    parser.add_argument(
        "--slots",
        type=_numbers,
        default=_DEFAULT_SLOTS,
        metavar="N,..",
        help="experts per layer in the pools (20)",
    )
    parser.add_argument(
        "--tokens", type=positive, default=512, metavar="N", help="of the text, at most (512)"
    )
    parser.add_argument(
        "--generate",
        type=natural,
        default=800,
        metavar="N",
        help="tokens to watch for loops, 0 for none (800)",
    )
    parser.add_argument(
        "--seeds", type=_numbers, default=_DEFAULT_SEEDS, metavar="N,..", help="one generation each (1,2,3)"
    )
    parser.add_argument("--temp", type=float, default=0.7, metavar="T", help="of the generations (0.7)")


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Read the text under exact routing once, then under resident routing for each pool size."""
    settings = LoadSettings(
        arguments.file,
        ram_budget_bytes=arguments.ram,
        threads=arguments.threads,
        is_prefetch_on=not arguments.no_prefetch,
        repack=Repack.OFF,  # so that nothing but the routing differs
    )
    task = FidelityTask(
        settings=settings,
        text=_read_text(arguments.text),
        most_tokens=arguments.tokens,
        generated_tokens=arguments.generate,
        seeds=arguments.seeds,
        temperature=arguments.temp,
    )
    rows = measure_fidelity(task, arguments.slots, llama_backend, terminal.progress)
    terminal.clear_progress()
    if terminal.is_json:
        documents = [{"slots": slots, **asdict(figures)} for slots, figures in rows]
        terminal.document({**documents[0], "rows": documents})
    else:
        terminal.write(_table(rows))
    return 0


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(positive(word.strip()) for word in text.split(","))


def _read_text(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The text {path} can't be read ({error}).", "Give a UTF-8 text file.") from error
    if not text.strip():
        raise UsageError(f"The text {path} is empty.", "Give a text of a few hundred words.")
    return text


def _table(rows: list[tuple[int, FidelityFigures]]) -> str:
    header = (
        "slots per layer", "KL, nats", "top-1 agrees", "tokens with other sets", "ranks replaced",
        "gate mass lost", "loops",
    )  # fmt: skip
    return markdown_table(
        header,
        [
            (
                str(slots),
                f"{figures.kl_mean:.4f}",
                f"{figures.top1_agreement:.1%}",
                f"{figures.sets_changed_share:.1%}",
                f"{figures.ranks_replaced_share:.1%}",
                f"{figures.gate_mass_lost:.1%}",
                f"{figures.loops} of {figures.generations}",
            )
            for slots, figures in rows
        ],
    )
