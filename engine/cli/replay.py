"""`replay TRACE`: the figures of a run that was recorded in the window."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from engine.cli.table import facts_table, markdown_table
from engine.cli.terminal import Terminal
from engine.config import format_size
from engine.events import Counters
from engine.telemetry.run_figures import AnswerFigures, ModelFigures, RunFigures, run_figures
from engine.telemetry.trace_file import SUFFIX, read_trace

_HEADER = (
    "answer", "new tokens", "cached", "prefill", "decode", "first token", "of it load", "of it prefill",
    "of that disk wait", "read",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `replay`."""
    parser.add_argument("trace", metavar="TRACE", type=Path, help=f"a recording (*{SUFFIX})")


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Read the recording and print what it comes to; returns the exit code."""
    figures = run_figures(read_trace(arguments.trace))
    if terminal.is_json:
        terminal.document(_document(figures))
    else:
        terminal.write(_text(figures))
    return 0


def _document(run: RunFigures) -> dict[str, object]:
    return {
        "events": run.events,
        "span_ns": run.span_ns,
        "models": [_model_document(model) for model in run.models],
        "answers": [_answer_document(answer) for answer in run.answers],
    }


def _model_document(model: ModelFigures) -> dict[str, object]:
    counters = model.counters
    return {
        "info": asdict(model.info) if model.info else None,
        "load_ns": model.load_ns,
        "initialise_ns": model.initialise_ns,
        "counters": asdict(counters),
        "hit_rate": _hit_rate(counters),
        "disk_wait_ns": counters.disk_wait_ns,
    }


def _answer_document(answer: AnswerFigures) -> dict[str, object]:
    usage = answer.usage
    return {
        "model": answer.model_name,
        "reason": answer.reason.value,
        "usage": asdict(usage)
        | {
            "prefill_tokens_per_second": usage.prefill_tokens_per_second,
            "decode_tokens_per_second": usage.decode_tokens_per_second,
        },
        "ttft": asdict(answer.ttft) | {"total_ns": answer.ttft.total_ns},
    }


def _text(run: RunFigures) -> str:
    parts = [facts_table([("recorded", f"{run.events:,} events in {run.span_ns / 1e9:.1f} s")])]
    parts += [_model_text(model) for model in run.models]
    rows = [_answer_row(number, answer) for number, answer in enumerate(run.answers, 1)]
    parts.append(markdown_table(_HEADER, rows) if rows else "No answer was recorded.\n")
    return "\n".join(parts)


def _model_text(model: ModelFigures) -> str:
    info, counters = model.info, model.counters
    hits = _hit_rate(counters)
    return facts_table(
        [
            ("model", info.name if info else "n/a"),
            ("expert slots", format_size(info.slots_bytes) if info else "n/a"),
            ("load", f"{(model.load_ns + model.initialise_ns) / 1e6:,.0f} ms"),
            ("bytes read", format_size(counters.bytes_read)),
            ("expert requests", f"{counters.expert_requests:,}"),
            ("hit rate", "n/a" if hits is None else f"{hits:.2%}"),
            ("evictions", f"{counters.evictions:,}"),
            ("disk wait in prefill", f"{counters.disk_wait_prefill_ns / 1e6:,.0f} ms"),
            ("disk wait in decode", f"{counters.disk_wait_decode_ns / 1e6:,.0f} ms"),
        ]
    )


def _answer_row(number: int, answer: AnswerFigures) -> tuple[str, ...]:
    usage, ttft = answer.usage, answer.ttft
    return (
        f"#{number} {answer.model_name}".rstrip(),
        f"{usage.prompt_tokens - usage.cached_tokens:,}",
        f"{usage.cached_tokens:,}",
        f"{usage.prefill_tokens_per_second:.1f} tok/s",
        f"{usage.decode_tokens_per_second:.1f} tok/s",
        f"{ttft.total_ns / 1e6:,.0f} ms",
        f"{(ttft.load_ns + ttft.initialise_ns) / 1e6:,.0f} ms",
        f"{ttft.prefill_ns / 1e6:,.0f} ms",
        f"{ttft.prefill_disk_wait_ns / 1e6:,.0f} ms",
        format_size(usage.bytes_read),
    )


def _hit_rate(counters: Counters) -> float | None:
    requests = counters.expert_requests
    return (requests - counters.expert_misses) / requests if requests else None
