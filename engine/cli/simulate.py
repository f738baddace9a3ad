"""`simulate TRACE`: what cache policies would have made of a recorded run."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from engine.cli.arguments import positive
from engine.cli.table import markdown_table
from engine.cli.terminal import Terminal
from engine.errors import UsageError
from engine.placement.cache_simulator import POLICIES, HitFigures, least_slots, simulate
from engine.placement.routing_trace import RoutingTrace, load_trace

_DEFAULT_SHARES = "15%,30%,60%"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `simulate`."""
    parser.add_argument("trace", metavar="TRACE", type=Path, help="what “chat --trace” recorded")
    parser.add_argument(
        "--slots",
        default=_DEFAULT_SHARES,
        metavar="N,..",
        help="slots in all, as numbers or shares of the experts (default %(default)s)",
    )
    parser.add_argument(
        "--policy", choices=("all", *POLICIES), default="all", help="one policy instead of all of them"
    )


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Replay the trace; returns the exit code."""
    trace = load_trace(arguments.trace)
    names = list(POLICIES) if arguments.policy == "all" else [arguments.policy]
    counts = [slot_count(word, trace) for word in arguments.slots.split(",")]
    figures = [simulate(trace, name, slots) for slots in counts for name in names]
    if terminal.is_json:
        terminal.document(_document(trace, figures))
    else:
        terminal.write(_table(trace, figures))
    return 0


def slot_count(word: str, trace: RoutingTrace) -> int:
    """“256” or “15%” of all experts, at least what one step needs; raises UsageError."""
    text = word.strip()
    everything = trace.n_row * trace.n_expert
    if text.endswith("%"):
        try:
            share = float(text[:-1])
        except ValueError:
            share = 0.0
        if not 0 < share <= 100:
            raise UsageError(f"“{text}” is not a share of the experts.", "Write it like 15%.")
        return max(int(everything * share / 100), least_slots(trace))
    try:
        return positive(text)
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"“{text}” is not a number of slots: {error}.", "Write 256, or 15%.") from error


def _document(trace: RoutingTrace, figures: list[HitFigures]) -> dict[str, object]:
    rows = [
        {
            **asdict(each),
            "hit_rate": each.hit_rate,
            "prefill_hit_rate": each.prefill_hit_rate,
            "decode_hit_rate": each.decode_hit_rate,
        }
        for each in figures
    ]
    return {"layers": trace.n_row, "experts": trace.n_expert, "top_k": trace.top_k, "rows": rows}


def _table(trace: RoutingTrace, figures: list[HitFigures]) -> str:
    best = {each.slots: each.hit_rate for each in figures if each.policy == "belady"}
    rows = [
        (
            each.policy,
            f"{each.slots:,}",
            f"{each.slots / (trace.n_row * trace.n_expert):.0%}",
            f"{each.hit_rate:.2%}",
            f"{each.prefill_hit_rate:.2%}",
            f"{each.decode_hit_rate:.2%}",
            f"{each.hit_rate / best[each.slots]:.1%}" if best.get(each.slots) else "",
        )
        for each in figures
    ]
    header = ("policy", "slots", "of all", "hits", "prefill", "decode", "of the optimum")
    return markdown_table(header, rows)
