"""`plan FILE`: where a model's bytes would go, and what that will likely give; no weights are loaded."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from engine.backends.placement_preview import PlacementPreview, preview_placement
from engine.cli.arguments import (
    add_context,
    add_file,
    add_placement,
    add_profile,
    add_routing,
    positive,
    size_bytes,
    with_run,
)
from engine.cli.bench_spans import expert_spans
from engine.cli.plan_report import Forecast, plan_document, plan_text
from engine.cli.terminal import Terminal
from engine.config import LoadSettings, usable_cores
from engine.hardware.drive_rate import DriveRate, measure_drive_rate
from engine.hardware.memory_rate import measure_memory_rate
from engine.placement.forecast import decode_range, hit_rate

_DRIVE_SAMPLES, _DRIVE_SECONDS = 256, 0.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `plan`."""
    add_file(parser)
    parser.add_argument("--ram", type=size_bytes, metavar="SIZE", help="memory budget, such as 6GiB")
    add_context(parser)
    parser.add_argument("--threads", type=positive, metavar="N", help="threads that compute")
    add_routing(parser)
    add_placement(parser)
    add_profile(parser)
    parser.add_argument(
        "--no-measure",
        action="store_true",
        help="don't measure the drive and the memory (a second); without them there are no tokens per second",
    )


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Print the plan and the forecast; a budget that is too small is refused with what is needed."""
    settings = _settings(arguments)
    preview = preview_placement(settings)
    forecast = _forecast(preview, not arguments.no_measure, terminal)
    terminal.clear_progress()
    for note in preview.notes:
        terminal.note(note)
    if terminal.is_json:
        terminal.document(plan_document(preview, forecast))
    else:
        terminal.write(plan_text(preview, forecast))
    return 0


def _settings(arguments: argparse.Namespace) -> LoadSettings:
    plain = LoadSettings(arguments.file, ram_budget_bytes=arguments.ram, context_tokens=arguments.ctx)
    return with_run(plain, arguments)


def _forecast(preview: PlacementPreview, is_measuring: bool, terminal: Terminal) -> Forecast:
    unit = preview.plan.unit_tokens
    read_bytes, unit_bytes = preview.miss_bytes(1), preview.miss_bytes(unit)
    forecast = Forecast(
        hit_rate=hit_rate(preview.forecast(1)),
        is_from_profile=preview.is_profile_used,
        decode_read_bytes=round(read_bytes),
        prefill_read_bytes_per_token=round(unit_bytes / unit),
    )
    if not is_measuring:
        return forecast
    drive = _measure_drive(preview, terminal)
    terminal.progress("Measuring the memory…")
    memory = measure_memory_rate(preview.settings.threads or usable_cores())
    tokens = decode_range(read_bytes, preview.touched_bytes, drive.bytes_per_second, memory)
    most = unit * drive.bytes_per_second / unit_bytes if unit_bytes else None
    return Forecast(
        **asdict(forecast)
        | {
            "drive_bytes_per_second": drive.bytes_per_second,
            "is_drive_direct": drive.is_direct,
            "memory_bytes_per_second": memory,
            "decode_tokens_per_second": (tokens.low_per_second, tokens.high_per_second),
            "prefill_tokens_per_second_most": most,
        }
    )


def _measure_drive(preview: PlacementPreview, terminal: Terminal) -> DriveRate:
    terminal.progress("Measuring the drive…")
    spans = list(expert_spans(preview.model, preview.layout, _DRIVE_SAMPLES))
    return measure_drive_rate(spans, preview.settings.reader_threads, _DRIVE_SECONDS)
