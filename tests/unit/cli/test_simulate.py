"""`simulate`: figures of a recorded run as a table and as JSON; wrong input in words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from engine.placement.routing_trace import RoutingRecorder
from tests.support.command_line import run_engine


@pytest.fixture
def trace_file(tmp_path: Path) -> Path:
    """One layer of ten experts; 0 1 2 0 1 2, one expert per token."""
    recorder = RoutingRecorder((0,), 10, 1)
    for number, expert in enumerate((0, 1, 2, 0, 1, 2)):
        recorder.add(number, 0, False, np.array([[expert]], np.int32))
    path = tmp_path / "run.trace"
    recorder.trace().save(path)
    return path


def test_json_has_a_row_per_policy_and_slot_count(trace_file: Path) -> None:
    printed = run_engine("simulate", str(trace_file), "--slots", "2,30%", "--json")
    document = json.loads(printed.out)
    rates = {(row["policy"], row["slots"]): row["hit_rate"] for row in document["rows"]}
    assert printed.code == 0
    assert rates["lru", 2] == 0
    assert rates["belady", 2] == pytest.approx(2 / 6)
    assert rates["lru", 3] == rates["belady", 3] == pytest.approx(3 / 6)
    assert len(rates) == 10


def test_the_table_compares_with_the_optimum(trace_file: Path) -> None:
    printed = run_engine("simulate", str(trace_file), "--slots", "3")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in printed.out.splitlines()]
    assert rows[2] == ["lru", "3", "30%", "50.00%", "0.00%", "50.00%", "100.0%"]


@pytest.mark.parametrize(
    ("slots", "words"),
    [
        ("many", "not a number of slots"),
        ("0%", "not a share"),
        ("x%", "not a share"),
        ("101%", "not a share"),
    ],
)
def test_wrong_slots_are_named(trace_file: Path, slots: str, words: str) -> None:
    printed = run_engine("simulate", str(trace_file), "--slots", slots)
    assert printed.code == 2
    assert words in printed.err


def test_a_file_that_is_no_trace_is_named(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"GGUF")
    printed = run_engine("simulate", str(tmp_path / "x"))
    assert printed.code == 2
    assert "is no routing trace" in printed.err
