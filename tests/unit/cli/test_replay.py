"""`replay`: figures of the golden recording, each by hand from what tests.support.make_golden_trace says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from engine.events import ModelAdjusted
from engine.telemetry.run_figures import run_figures
from engine.telemetry.trace_file import read_trace
from tests.support.command_line import run_engine
from tests.support.make_golden_trace import golden_events
from tests.support.telemetry_events import load_events, model_info

GOLDEN = Path(__file__).parents[2] / "golden" / "small_run.embertrace"


def test_the_golden_recording_is_what_its_maker_writes() -> None:
    made = [(type(event), event.t_ns) for event in golden_events()]
    assert [(type(event), event.t_ns) for event in read_trace(GOLDEN)] == made


def test_json_tells_counters_and_answers() -> None:
    printed = run_engine("replay", str(GOLDEN), "--json")
    document = json.loads(printed.out)
    assert printed.code == 0
    assert document["span_ns"] == 14_500_000_000
    first, second = document["models"]
    assert (first["info"]["name"], second["info"]["name"]) == ("Tiny", "Large")
    # 16 half seconds with 100 MB, 30 requests and 6 misses each; the second model ran 8
    assert first["counters"]["bytes_read"] == 1_600_000_000
    assert second["counters"]["bytes_read"] == 800_000_000
    assert first["hit_rate"] == pytest.approx(0.8)
    assert first["disk_wait_ns"] == 8 * 300_000_000 + 8 * 100_000_000
    assert [answer["model"] for answer in document["answers"]] == ["Tiny", "Tiny", "Large"]
    last = document["answers"][2]
    # 2 + 2,000 + 98 + 1,500 + 400 ms
    assert last["ttft"]["total_ns"] == 4_000_000_000
    # 40 - 8 tokens in 2 s, 16 in 2 s
    assert last["usage"]["prefill_tokens_per_second"] == 16.0
    assert last["usage"]["decode_tokens_per_second"] == 8.0


def test_the_table_has_a_row_per_answer() -> None:
    out = run_engine("replay", str(GOLDEN)).out
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in out.splitlines() if "| #" in line]
    assert rows[1] == [
        "#2 Tiny", "32", "8", "16.0 tok/s", "8.0 tok/s", "1,600 ms", "0 ms", "1,500 ms", "500 ms", "763 MiB",
    ]  # fmt: skip
    assert "disk wait in prefill  2,400 ms" in out


def test_another_file_is_bad_usage_in_words(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello", encoding="utf-8")
    printed = run_engine("replay", str(path))
    assert printed.code == 2
    assert "notes.txt can't be opened as a recording" in printed.err


def test_a_model_s_settings_are_those_it_had_last() -> None:
    model = model_info()
    events = [*load_events(model), ModelAdjusted(t_ns=5, info=replace(model, unit_tokens=3))]
    (figures,) = run_figures(events).models
    assert figures.info is not None
    assert (figures.info.unit_tokens, figures.load_ns) == (3, 1)
