"""A run in the Trace Event Format, which Perfetto and chrome://tracing open. No chat text in it.

Slices: the phases of each answer, below the whole answer; answers that waited for others have a row of their
own, because slices of one row must not cross. The first paint has a row too: it runs beside the engine.
Counters: the rates. Times are microseconds of the engine's clock.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from app.inspector.display_words import PHASE_WORDS
from app.inspector.figure_exports import ALL_SECONDS
from app.rate_series import RateSeries
from app.telemetry_store import AnswerTiming, TelemetryStore

_PROCESS, _WINDOW_ROW, _FIRST_ANSWER_ROW = 1, 1, 2
_BEFORE_PROMPT = ("queue_ns", "load_ns", "initialise_ns", "warm_up_ns", "template_ns")
_AFTER_PROMPT = ("prefill_ns", "first_decode_ns")
_COUNTERS = {
    "prefill, tok/s": ("prefill_tokens_per_second", 1.0),
    "decode, tok/s": ("decode_tokens_per_second", 1.0),
    "disk read, MB/s": ("bytes_per_second", 1e-6),
    "copied to devices, MB/s": ("link_bytes_per_second", 1e-6),
    "computing, %": ("compute_share", 100.0),
    "disk wait, %": ("disk_wait_share", 100.0),
    "link wait, %": ("transfer_wait_share", 100.0),
    "read per token, MB": ("bytes_per_token", 1e-6),
}
TraceEvent = dict[str, Any]


def chrome_trace_text(store: TelemetryStore) -> str:
    """One JSON document."""
    answers = [answer for answer in store.answers if answer.prompt_ready_ns]
    rows = _rows_of(answers)
    events = [_metadata("process_name", "Emberglass", 0), _metadata("thread_name", "window", _WINDOW_ROW)]
    for row in sorted(set(rows)):
        events.append(_metadata("thread_name", f"answers {row - _FIRST_ANSWER_ROW + 1}", row))
    for answer, row in zip(answers, rows, strict=True):
        events += _answer_slices(answer, row)
    events += _rate_counters(store.rates.series(ALL_SECONDS))
    return json.dumps(
        {"traceEvents": events, "displayTimeUnit": "ms"}, separators=(",", ":"), allow_nan=False
    )


def _begin_ns(answer: AnswerTiming) -> int:
    """What comes before the prefill is laid out backwards from where that began."""
    before_ns = sum(int(getattr(answer.ttft, name)) for name in _BEFORE_PROMPT)
    return answer.prompt_ready_ns - before_ns


def _rows_of(answers: Sequence[AnswerTiming]) -> list[int]:
    """For each answer the first row that is free when it begins."""
    ends_ns: list[int] = []
    rows = []
    for answer in answers:
        begin_ns = _begin_ns(answer)
        row = next((row for row, end_ns in enumerate(ends_ns) if end_ns <= begin_ns), len(ends_ns))
        ends_ns[row : row + 1] = [answer.finished_ns]
        rows.append(_FIRST_ANSWER_ROW + row)
    return rows


def _answer_slices(answer: AnswerTiming, row: int) -> list[TraceEvent]:
    """The whole answer, its phases end to end, and the rest as decode."""
    begin_ns = at_ns = _begin_ns(answer)
    title = f"answer #{answer.number} {answer.model_name}".rstrip()
    slices = [_slice(title, row, begin_ns, answer.finished_ns - begin_ns, _figures(answer))]
    for name in (*_BEFORE_PROMPT, *_AFTER_PROMPT):
        length_ns = getattr(answer.ttft, name)
        if length_ns:
            slices.append(_slice(PHASE_WORDS[name], row, at_ns, length_ns, _phase_figures(answer, name)))
        at_ns += length_ns
    if answer.finished_ns > at_ns:
        slices.append(_slice("decode", row, at_ns, answer.finished_ns - at_ns, {}))
    if answer.ttft.first_paint_ns:
        words = PHASE_WORDS["first_paint_ns"]
        slices.append(
            _slice(words, _WINDOW_ROW, at_ns, answer.ttft.first_paint_ns, {"answer": answer.number})
        )
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
    if name != "prefill_ns":
        return {}
    ttft = answer.ttft
    return {
        "disk wait, ms": ttft.prefill_disk_wait_ns / 1e6,
        "link wait, ms": ttft.prefill_transfer_wait_ns / 1e6,
    }


def _rate_counters(series: RateSeries) -> list[TraceEvent]:
    """A counter holds from its event on: values stand where intervals begin, a 0 where sampling paused."""
    starts_ns, ends_ns = series.start_ns.tolist(), series.t_ns.tolist()
    is_last = [*(end != start for end, start in zip(ends_ns, starts_ns[1:], strict=False)), True]
    events = []
    for name, (rate, factor) in _COUNTERS.items():
        values = (series.rate(rate) * factor).tolist()
        # without an interval there is still one `True`
        for start_ns, end_ns, value, is_end in zip(starts_ns, ends_ns, values, is_last, strict=False):
            events.append(_counter(name, start_ns, value))
            if is_end:
                events.append(_counter(name, end_ns, 0.0))
    return events


def _metadata(kind: str, name: str, row: int) -> TraceEvent:
    return {"ph": "M", "name": kind, "pid": _PROCESS, "tid": row, "args": {"name": name}}


def _slice(name: str, row: int, begin_ns: int, length_ns: int, figures: dict[str, float]) -> TraceEvent:
    return {
        "ph": "X", "cat": "answer", "name": name, "pid": _PROCESS, "tid": row, "ts": begin_ns / 1e3,
        "dur": length_ns / 1e3, "args": figures,
    }  # fmt: skip


def _counter(name: str, t_ns: int, value: float) -> TraceEvent:
    figures = {"value": round(value, 3)}
    return {"ph": "C", "cat": "rate", "name": name, "pid": _PROCESS, "ts": t_ns / 1e3, "args": figures}
