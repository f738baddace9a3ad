"""Exports of the golden recording; figures by hand from what its maker says."""

from __future__ import annotations

import csv
import io

import pytest

from app.inspector.figure_exports import csv_text
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


def test_nothing_recorded_is_still_a_document() -> None:
    assert csv_text(TelemetryStore()).count("\n") == 1
