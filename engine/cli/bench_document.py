"""Everything a bench measured, as one JSON document."""

from __future__ import annotations

from engine.cli import bench_report
from engine.cli.bench_limits import limit_rows
from engine.cli.bench_session import BenchSession
from engine.config import usable_cores


def bench_document(session: BenchSession) -> dict[str, object]:
    """The document of a bench that has been measured; sizes in bytes, times by their names."""
    arguments, drive, runs = session.arguments, session.drive_bytes_per_second, session.runs
    headline = bench_report.headline_run(runs)
    limits = [row for run in runs for row in limit_rows(run, drive)]
    stock_runs = {id(run.stock): run for run in reversed(runs)}  # shared lists only once, by the first
    return {
        "model": _model_document(session),
        "cap_bytes": arguments.cap,
        "cap_refusal": session.cap_refusal,
        "budget_bytes": headline.ours[0].budget_bytes,
        "prompt_tokens": headline.case.prompt_tokens,
        "threads": arguments.threads or usable_cores(),
        "repeat": arguments.repeat,
        "seed": arguments.seed,
        "settings": _settings_document(session),
        "placement": headline.ours[0].placement,
        "cold_note": session.cold_note,
        "rows": [row for run in runs for row in bench_report.our_rows(run, drive)],
        "stock": [
            row
            for run in runs
            if stock_runs[id(run.stock)] is run
            for row in bench_report.side_rows(run.stock, run.case, drive)
        ],
        "stock_kind": arguments.compare,
        "ratios": bench_report.ratios(headline),
        "ratios_by_run": [
            {
                "prompt_tokens": run.case.prompt_tokens,
                "requested_unit": run.case.unit_words,
                "repack": run.case.repack,
                "ratios": bench_report.ratios(run),
            }
            for run in runs
            if run.stock
        ],
        "drive_bytes_per_second": drive,
        "limit_ratio": next(
            (row["limit_ratio"] for row in limit_rows(headline, drive) if row["state"] == "rotating"), None
        ),
        "limits": limits,
        "limit_note": session.limit_note,
        "identical_logits": bench_report.identical_logits(runs),
        "notes": list(dict.fromkeys(note for run in runs for note in run.ours[0].notes)),
    }


def _model_document(session: BenchSession) -> dict[str, object]:
    facts = session.facts
    return {
        "path": str(session.model.path),
        "name": facts.name,
        "architecture": facts.architecture,
        "file_bytes": facts.file_bytes,
        "n_layer": facts.n_layer,
        "n_expert": facts.n_expert,
        "top_k": facts.top_k,
        "expert_bytes": facts.expert_bytes,
    }


def _settings_document(session: BenchSession) -> dict[str, object]:
    """What was asked for, None where it was left to the engine."""
    arguments = session.arguments
    return {
        "routing": str(arguments.routing),
        "slots": arguments.slots,
        "pool": arguments.pool,
        "hot": arguments.hot,
        "repack": [str(each) for each in arguments.repack],
        "devices": list(arguments.device),
        "vram_bytes": arguments.vram,
        "is_prefetch_on": not arguments.no_prefetch,
    }
