"""Figures for other programs: CSV for tables, Chrome trace JSON for Perfetto. No chat text in either."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from app.inspector.display_words import PHASE_WORDS, phase_values_ns
from app.rate_series import RATES, RateSeries
from app.telemetry_store import AnswerTiming, TelemetryStore
from app.window_totals import FIELDS

_ALL_SECONDS = 1e9
_PROCESS, _ANSWERS = 1, 1
_AFTER_PROMPT = ("prefill_ns", "first_decode_ns")


def csv_text(store: TelemetryStore) -> str:
    """One row per sampling interval: what each counter grew by, and the rates as drawn."""
    series = store.rates.series(_ALL_SECONDS)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("start_ns", "end_ns", *FIELDS, *RATES))
    for start_ns, end_ns, deltas, drawn in zip(
        series.start_ns.tolist(),
        series.t_ns.tolist(),
        series.deltas.tolist(),
        series.rates.tolist(),
        strict=True,
    ):
        writer.writerow((start_ns, end_ns, *deltas, *(f"{value:.6g}" for value in drawn)))
    return out.getvalue()


def chrome_trace_text(store: TelemetryStore) -> str:
    """The Trace Event Format: slices for the phases of each answer, counters for the rates. Times are µs."""
    events: list[dict[str, Any]] = [
        {"ph": "M", "pid": _PROCESS, "name": "process_name", "args": {"name": "Emberglass"}},
        {"ph": "M", "pid": _PROCESS, "tid": _ANSWERS, "name": "thread_name", "args": {"name": "answers"}},
    ]
    for answer in store.answers:
        events += _answer_slices(answer)
    events += _rate_counters(store.rates.series(_ALL_SECONDS))
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}, separators=(",", ":"))


def _answer_slices(answer: AnswerTiming) -> list[dict[str, Any]]:
    """Phases end to end; what comes before the prefill is laid out backwards from where that began."""
    if not answer.prompt_ready_ns:
        return []
    lengths_ns = dict(zip(PHASE_WORDS, phase_values_ns(answer.ttft), strict=True))
    before_ns = sum(length for name, length in lengths_ns.items() if name not in _AFTER_PROMPT)
    begin_ns = at_ns = answer.prompt_ready_ns - before_ns
    title = f"answer #{answer.number} {answer.model_name}".rstrip()
    slices = [_slice(title, begin_ns, answer.finished_ns - begin_ns, _figures(answer))]
    for name, length_ns in lengths_ns.items():
        if length_ns:
            slices.append(_slice(PHASE_WORDS[name], at_ns, length_ns, _phase_figures(answer, name)))
        at_ns += length_ns
    if answer.finished_ns > at_ns:
        slices.append(_slice("decode", at_ns, answer.finished_ns - at_ns, {}))
    return slices


def _figures(answer: AnswerTiming) -> dict[str, float]:
    usage = answer.usage
    return {
        "prompt tokens": usage.prompt_tokens,
        "cached tokens": usage.cached_tokens,
        "answer tokens": usage.completion_tokens,
        "bytes read": usage.bytes_read,
        "disk wait, ms": usage.disk_wait_ns / 1e6,
    }


def _phase_figures(answer: AnswerTiming, name: str) -> dict[str, float]:
    return {"disk wait, ms": answer.ttft.prefill_disk_wait_ns / 1e6} if name == "prefill_ns" else {}


def _slice(name: str, begin_ns: int, length_ns: int, figures: dict[str, float]) -> dict[str, Any]:
    return {
        "ph": "X", "name": name, "pid": _PROCESS, "tid": _ANSWERS, "ts": begin_ns / 1e3,
        "dur": length_ns / 1e3, "args": figures,
    }  # fmt: skip


def _rate_counters(series: RateSeries) -> list[dict[str, Any]]:
    """A counter holds from its event on: values stand where intervals begin, a 0 where sampling paused."""
    names = {
        "prefill, tok/s": series.rate("prefill_tokens_per_second"),
        "decode, tok/s": series.rate("decode_tokens_per_second"),
        "disk read, MB/s": series.rate("bytes_per_second") / 1e6,
        "disk wait, %": series.rate("disk_wait_share") * 100,
    }
    starts_ns, ends_ns = series.start_ns.tolist(), series.t_ns.tolist()
    is_last = [*(end != start for end, start in zip(ends_ns, starts_ns[1:], strict=False)), True]
    events = []
    for name, values in names.items():
        for start_ns, end_ns, value, is_end in zip(
            starts_ns, ends_ns, values.tolist(), is_last, strict=False
        ):
            events.append(_counter(name, start_ns, value))
            if is_end:
                events.append(_counter(name, end_ns, 0.0))
    return events


def _counter(name: str, t_ns: int, value: float) -> dict[str, Any]:
    return {"ph": "C", "name": name, "pid": _PROCESS, "ts": t_ns / 1e3, "args": {"value": round(value, 3)}}
