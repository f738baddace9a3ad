"""The distance to what the machine can do, worked by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.cli.bench_limits import limit_rows, missing_bytes, prefill_limit
from engine.cli.bench_records import BenchCase, BenchRun
from engine.events import ExpertsSampled
from tests.support.bench_reports import SECOND_NS, report, resident_report, state_pass

CASE = BenchCase(64)


def run_of(resident_seconds: float, *prefill_seconds: float) -> BenchRun:
    ours = [report(cold=state_pass("cold", prefill_ns=int(s * SECOND_NS))) for s in prefill_seconds]
    return BenchRun(CASE, ours, resident=[resident_report(int(resident_seconds * SECOND_NS))])


def test_the_limit_is_the_longer_of_reading_and_computing() -> None:
    run = run_of(1.0, 9.0, 2.0, 3.0)  # 300 MB are needed, the median takes 3 s
    computing = prefill_limit(run, "cold", 1e9)
    reading = prefill_limit(run, "cold", 2e8)
    assert computing is not None
    assert reading is not None
    assert computing.ratio == pytest.approx(3 / 1.0)
    assert reading.ratio == pytest.approx(3 / 1.5)
    assert (reading.needed_bytes, reading.drive_ns, reading.resident_compute_ns) == (3e8, 1.5e9, 1e9)


def test_a_resident_side_that_still_reads_is_no_limit() -> None:
    run = BenchRun(CASE, [report()], resident=[report()])  # 30 experts from the disk
    assert prefill_limit(run, "cold", 1e9) is None
    assert prefill_limit(BenchRun(CASE, [report()]), "cold", 1e9) is None
    assert limit_rows(run, 1e9) == []


def test_cold_and_steady_are_told() -> None:
    rows = limit_rows(run_of(1.0, 3.0), 1e9)
    assert [(row["state"], row["limit_ratio"]) for row in rows] == [("cold", 3.0), ("rotating", 2.0)]
    assert rows[0]["prompt_tokens"] == 64
    assert (rows[0]["drive_seconds"], rows[0]["resident_compute_seconds"]) == (0.3, 1.0)


def test_missing_are_distinct_experts_used_and_not_in_memory() -> None:
    before = ExpertsSampled(
        moe_layers=(2, 5),
        prefill_uses=np.array([[4, 0, 0], [0, 0, 0]]),
        decode_uses=np.array([[0, 1, 0], [0, 0, 0]]),
        tiers=np.array([[0, 0, 2], [0, 1, 0]], np.uint8),
        last_use_pass=np.zeros((2, 3), np.int64),
    )
    after = replace(
        before,
        # layer 2: expert 0 again, 7 times; expert 2 was in the pool. Layer 5: all; 1 was in the window
        prefill_uses=np.array([[11, 0, 3], [1, 1, 2]]),
        tiers=np.array([[2, 0, 2], [2, 1, 0]], np.uint8),
    )
    assert missing_bytes(before, after, {2: 100, 5: 1000}) == 100 + 2 * 1000
