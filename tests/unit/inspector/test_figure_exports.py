"""Exports of the golden recording; figures by hand from what its maker says."""

from __future__ import annotations

import csv
import io
import json

import pytest

from app.inspector.figure_exports import chrome_trace_text, csv_text
from app.telemetry_store import TelemetryStore
from tests.support.make_golden_trace import golden_events


@pytest.fixture
def store() -> TelemetryStore:
    store = TelemetryStore()
    store.apply(list(golden_events()))
    return store


def test_csv_has_the_counters_growth_per_interval(store: TelemetryStore) -> None:
    rows = list(csv.DictReader(io.StringIO(csv_text(store))))
    # 24 half seconds of work and 3 idle ones before the answers
    assert len(rows) == 27
    assert sum(int(row["bytes_read"]) for row in rows) == 2_400_000_000
    assert sum(int(row["expert_misses"]) for row in rows) == 24 * 6
    first = rows[1]
    assert (first["start_ns"], first["end_ns"]) == ("500000000", "1000000000")
    assert (first["prefill_tokens_per_second"], first["bytes_per_second"]) == ("16", "2e+08")
    assert first["disk_wait_share"] == "0.6"


def test_the_chrome_trace_lays_phases_end_to_end(store: TelemetryStore) -> None:
    events = json.loads(chrome_trace_text(store))["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    third = slices[[s["name"] for s in slices].index("answer #3 Large") :]
    # prefill began at 10.5 s; before it 1.5 s load, 0.4 s initialise and 2 ms template; it ended at 14.5 s
    placed = [(s["name"], s["ts"] / 1e3, s["dur"] / 1e3) for s in third]
    assert placed == [
        ("answer #3 Large", 8598, 5902),
        ("load", 8598, 1500),
        ("initialise", 10098, 400),
        ("template", 10498, 2),
        ("prefill", 10500, 2000),
        ("first decode", 12500, 98),
        ("decode", 12598, 1902),
    ]
    assert third[0]["args"]["bytes read"] == 800_000_000


def test_the_chrome_trace_has_counters_that_end_at_gaps(store: TelemetryStore) -> None:
    events = json.loads(chrome_trace_text(store))["traceEvents"]
    reads = [(e["ts"] / 1e6, e["args"]["value"]) for e in events if e["name"] == "disk read, MB/s"]
    assert reads[:3] == [(0.0, 0.0), (0.5, 200.0), (1.0, 200.0)]
    # the first model's last sample is at 9 s, the second is loaded at 10 s
    assert reads[18:21] == [(9.0, 0.0), (10.0, 0.0), (10.5, 200.0)]
    assert reads[-1] == (14.5, 0.0)
    assert {e["ph"] for e in events} == {"M", "X", "C"}


def test_nothing_recorded_is_still_a_document() -> None:
    assert csv_text(TelemetryStore()).count("\n") == 1
    assert len(json.loads(chrome_trace_text(TelemetryStore()))["traceEvents"]) == 2
