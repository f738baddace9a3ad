"""The golden recording in the Trace Event Format, held to the format's rules and to the maker's figures."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import replace
from typing import Any

import pytest

from app.inspector.chrome_trace import chrome_trace_text
from app.telemetry_store import TelemetryStore
from engine.events import GenerationStarted, TtftPhases
from tests.support.make_golden_trace import golden_events
from tests.support.telemetry_events import SECOND_NS, answer_event

TraceEvent = dict[str, Any]
# fields per phase letter that the Trace Event Format asks for, and those it allows
NEEDED = {
    "X": {"name", "ph", "ts", "dur", "pid", "tid"},
    "C": {"name", "ph", "ts", "pid", "args"},
    "M": {"name", "ph", "pid", "args"},
}
ALLOWED = {"X": {"cat", "args", "tts", "tdur", "cname"}, "C": {"cat", "id", "tid"}, "M": {"tid", "cat", "ts"}}
METADATA = {"process_name": "name", "thread_name": "name"}


def check_trace(text: str) -> list[TraceEvent]:
    """The events of a document that keeps to the format; fails where it doesn't."""

    def refuse(constant: str) -> float:
        pytest.fail(f"{constant} is no JSON")

    document = json.loads(text, parse_constant=refuse)
    assert set(document) <= {"traceEvents", "displayTimeUnit", "otherData", "systemTraceEvents"}
    assert document["displayTimeUnit"] in ("ms", "ns")
    events: list[TraceEvent] = document["traceEvents"]
    for event in events:
        check_event(event)
    check_slices_nest(events)
    check_rows_have_names(events)
    return events


def check_event(event: TraceEvent) -> None:
    kind = event["ph"]
    assert NEEDED[kind] <= set(event) <= NEEDED[kind] | ALLOWED[kind]
    assert isinstance(event["name"], str)
    assert event["name"]
    assert all(type(event[key]) is int for key in ("pid", "tid") if key in event)
    for key in ("ts", "dur"):
        if key in event:
            assert type(event[key]) in (int, float)
            assert math.isfinite(event[key])
            assert event[key] >= 0
    if kind == "M":
        assert set(event["args"]) == {METADATA[event["name"]]}
        assert all(isinstance(value, str) for value in event["args"].values())
    else:
        assert all(type(value) in (int, float) for value in event["args"].values())
    if kind == "C":
        assert event["args"]


def check_slices_nest(events: list[TraceEvent]) -> None:
    """Slices of one row lie inside each other or apart; a hundredth of a microsecond is rounding."""
    rows = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            rows[event["pid"], event["tid"]].append(event)
    for slices in rows.values():
        open_ends: list[float] = []
        for event in sorted(slices, key=lambda each: (each["ts"], -each["dur"])):
            while open_ends and open_ends[-1] <= event["ts"] + 0.01:
                open_ends.pop()
            end = event["ts"] + event["dur"]
            assert not open_ends or end <= open_ends[-1] + 0.01
            open_ends.append(end)


def check_rows_have_names(events: list[TraceEvent]) -> None:
    named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    assert {(e["pid"], e["tid"]) for e in events if e["ph"] == "X"} <= named


@pytest.fixture
def store() -> TelemetryStore:
    store = TelemetryStore()
    store.apply(list(golden_events()))
    return store


def slices_of(events: list[TraceEvent]) -> list[tuple[str, int, float, float]]:
    """Name, row, begin and length in milliseconds."""
    return [(e["name"], e["tid"], e["ts"] / 1e3, e["dur"] / 1e3) for e in events if e["ph"] == "X"]


def test_phases_lie_end_to_end(store: TelemetryStore) -> None:
    events = check_trace(chrome_trace_text(store))
    slices = slices_of(events)
    third = slices[[each[0] for each in slices].index("answer #3 Large") :]
    # prefill began at 10.5 s; before it 1.5 s load, 0.4 s initialise and 2 ms template; it ended at 14.5 s.
    # The message was sent while the second answer was still made, so it has a row of its own
    assert third == [
        ("answer #3 Large", 3, 8598, 5902),
        ("load", 3, 8598, 1500),
        ("initialise", 3, 10098, 400),
        ("template", 3, 10498, 2),
        ("prefill", 3, 10500, 2000),
        ("first decode", 3, 12500, 98),
        ("decode", 3, 12598, 1902),
    ]
    figures = next(e["args"] for e in events if e["name"] == "answer #3 Large")
    assert figures["bytes read"] == 800_000_000


def test_the_first_paint_runs_beside_the_engine() -> None:
    store = TelemetryStore()
    store.apply([GenerationStarted(t_ns=SECOND_NS, prompt_tokens=9, cached_tokens=0, context_tokens=99)])
    ttft = TtftPhases(template_ns=10_000_000, prefill_ns=SECOND_NS, first_decode_ns=SECOND_NS // 2)
    store.apply([replace(answer_event(2.52, ttft), request_id=7)])
    store.note_first_paint(7, 30_000_000)  # longer than the rest of the answer
    assert slices_of(check_trace(chrome_trace_text(store)))[-2:] == [
        ("decode", 2, 2500, 20),
        ("first paint", 1, 2500, 30),
    ]


def test_counters_end_at_gaps(store: TelemetryStore) -> None:
    events = check_trace(chrome_trace_text(store))
    reads = [(e["ts"] / 1e6, e["args"]["value"]) for e in events if e["name"] == "disk read, MB/s"]
    assert reads[:3] == [(0.0, 0.0), (0.5, 200.0), (1.0, 200.0)]
    # the first model's last sample is at 9 s, the second is loaded at 10 s
    assert reads[18:21] == [(9.0, 0.0), (10.0, 0.0), (10.5, 200.0)]
    assert reads[-1] == (14.5, 0.0)
    shares = {e["name"]: e["args"]["value"] for e in events if e["ph"] == "C" and e["ts"] == 500_000}
    # 300 of 500 ms waited, 100 MB read for 8 tokens
    assert (shares["computing, %"], shares["disk wait, %"]) == (40.0, 60.0)
    assert shares["read per token, MB"] == 12.5


def test_nothing_recorded_is_still_a_document() -> None:
    assert {e["ph"] for e in check_trace(chrome_trace_text(TelemetryStore()))} == {"M"}
