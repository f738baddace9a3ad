"""`bench` with children that report round figures: order, document, table, faults."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFReader
from markdown_it import MarkdownIt

from engine.cli import bench_session
from engine.cli.bench_child import Logits, prompt_of, run_state
from engine.cli.bench_process import parse_outcome
from engine.cli.bench_records import STATES, BenchTask, ChildReport, PassCosts
from engine.cli.bench_spans import expert_spans
from engine.errors import BudgetError, EngineError
from engine.gguf.expert_layout import expert_layout
from engine.gguf.reader import read_model
from engine.hardware.drive_rate import DriveRate, ReadSpan
from tests.support.bench_reports import report, resident_report
from tests.support.command_line import run_engine
from tests.support.models import tiny_model

GIB = 1 << 30


class FakeChildren:
    """Stands for the child processes and notes their tasks; apart those with everything in memory."""

    def __init__(self) -> None:
        self.tasks: list[BenchTask] = []
        self.resident_tasks: list[BenchTask] = []
        self.is_repacking = False
        self.caps: list[int | None] = []
        self.dropped: list[list[Path]] = []
        self.refusal = ""

    def run(self, task: BenchTask, cap_bytes: int | None, timeout: float) -> tuple[ChildReport, str]:
        made = len(self.tasks) + len(self.resident_tasks)
        assert len(self.dropped) == made + 1, "caches are dropped before every child"
        if task.states != STATES:
            assert cap_bytes is None
            self.resident_tasks.append(task)
            return resident_report(), ""
        self.tasks.append(task)
        self.caps.append(cap_bytes)
        is_repacked = task.repack == "on" or (self.is_repacking and task.repack == "auto")
        measured = report(task.side, is_repacked=is_repacked)
        reason = "Few experts must be rewritten." if task.repack == "auto" else ""
        return replace(measured, placement={"repack_reason": reason}), self.refusal

    def drop(self, paths: list[Path]) -> str:
        self.dropped.append(paths)
        return "dropped"


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> FakeChildren:
    fake = FakeChildren()
    monkeypatch.setattr(bench_session, "run_child", fake.run)
    monkeypatch.setattr(bench_session, "drop_page_cache", fake.drop)
    monkeypatch.setattr(bench_session, "available_bytes", lambda: 1 << 40)
    rates = itertools.cycle((8, 10, 5))  # their median counts: 9 or 8
    monkeypatch.setattr(
        bench_session, "measure_drive_rate", lambda spans, depth: DriveRate(next(rates) * 10**8, 10**9, True)
    )
    return fake


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny_model("qwen3moe", tmp_path)


def test_sides_alternate_and_stock_takes_our_unit(children: FakeChildren, model: Path) -> None:
    words = ("--compare", "stock", "--repeat", "2", "--unit", "3,auto", "--cap", "2.5GiB")
    assert run_engine("bench", str(model), *words).code == 0
    assert [task.side for task in children.tasks] == ["ours", "stock"] * 4
    # the reports say 16: that is what ours effectively used, so that is what stock must use
    assert [task.unit_tokens for task in children.tasks] == [3, 16, None, 16] * 2
    seeds = [task.seed for task in children.tasks]
    assert len(set(seeds[:4])) == len(set(seeds[4:])) == 1
    assert abs(seeds[4] - seeds[0]) > 1, "a repetition uses its seed and the next one"
    assert children.caps == [int(2.5 * GIB)] * 8


def test_budget_is_a_part_of_the_cap_unless_given(children: FakeChildren, model: Path) -> None:
    run_engine("bench", str(model), "--cap", "1GiB")
    run_engine("bench", str(model), "--cap", "1GiB", "--ram", "512MiB")
    run_engine("bench", str(model))
    assert [task.budget_bytes for task in children.tasks] == [987_842_478, 512 << 20, None]


def test_stock_decodes_fewer_tokens_with_the_same_context(children: FakeChildren, model: Path) -> None:
    words = ("--compare", "stock", "--prompt-tokens", "250", "--decode-tokens", "30")
    run_engine("bench", str(model), *words, "--stock-decode-tokens", "4", "--threads", "2")
    ours, stock = children.tasks
    assert (ours.decode_tokens, stock.decode_tokens) == (30, 4)
    assert (ours.context_tokens, stock.context_tokens) == (512, 512)
    assert (ours.threads, stock.threads, ours.n_vocab) == (2, 2, 259)


def test_document_has_the_keys_of_the_schema(children: FakeChildren, model: Path) -> None:
    words = ("--compare", "stock", "--cap", "2GiB", "--json")
    document = json.loads(run_engine("bench", str(model), *words).out)
    assert document["model"]["path"] == str(model)
    assert (document["cap_bytes"], document["budget_bytes"]) == (2 * GIB, 2 << 30)
    assert [row["state"] for row in document["rows"]] == ["cold", "warm-identical", "rotating"]
    assert len(document["stock"]) == 3
    assert document["ratios"] == {"load": 1.0, "prefill_cold": 1.0, "prefill_steady": 1.0, "decode": 1.0}
    assert document["drive_bytes_per_second"] == 0.9e9
    assert document["limit_ratio"] == 2.0  # 2 s; computing alone takes 1 s, reading 0.3 / 0.9 s
    assert document["identical_logits"] is True


def test_document_without_stock(children: FakeChildren, model: Path) -> None:
    document = json.loads(run_engine("bench", str(model), "--json").out)
    assert (document["stock"], document["ratios"], document["identical_logits"]) == ([], None, None)
    assert (document["cap_bytes"], [task.side for task in children.tasks]) == (None, ["ours"])
    assert document["settings"] == {
        "routing": "exact", "slots": None, "pool": "learn", "hot": None, "repack": ["auto"], "devices": [],
        "vram_bytes": None, "is_prefetch_on": True,
    }  # fmt: skip


def test_four_limits_in_one_run(children: FakeChildren, model: Path) -> None:
    words = ("--prompt-tokens", "64,512", "--unit", "16,auto", "--cap", "1GiB", "--json")
    document = json.loads(run_engine("bench", str(model), *words).out)
    assert [(task.prompt_tokens, task.unit_tokens) for task in children.tasks] == [
        (64, 16), (64, None), (512, 16), (512, None),
    ]  # fmt: skip
    # once per prompt length, without cap, budget or unit: the best this machine can do
    assert [(task.prompt_tokens, task.unit_tokens) for task in children.resident_tasks] == [
        (64, None), (512, None),
    ]  # fmt: skip
    assert all(task.budget_bytes is None for task in children.resident_tasks)
    automatic = [row for row in document["limits"] if row["requested_unit"] == "auto"]
    assert [(row["prompt_tokens"], row["state"]) for row in automatic] == [
        (64, "cold"), (64, "rotating"), (512, "cold"), (512, "rotating"),
    ]  # fmt: skip
    assert [row["limit_ratio"] for row in document["limits"]] == [2.0] * 8


def test_no_limit_where_the_model_does_not_fit(
    children: FakeChildren, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_session, "available_bytes", lambda: model.stat().st_size)
    document = json.loads(run_engine("bench", str(model), "--json").out)
    assert (document["limit_ratio"], document["limits"], children.resident_tasks) == (None, [], [])
    assert "does not fit" in document["limit_note"]
    assert json.loads(run_engine("bench", str(model), "--json", "--no-limit").out)["limit_note"] == ""


def test_settings_reach_the_measured_process(children: FakeChildren, model: Path) -> None:
    words = ("--hot", "3", "--repack", "on", "--device", "X0", "--device", "X1", "--vram", "1GiB", "--json")
    document = json.loads(run_engine("bench", str(model), *words).out)
    (task,) = children.tasks
    assert (task.hot_per_layer, task.repack, task.devices) == (3, "on", ("X0", "X1"))
    assert task.vram_budget_bytes == GIB
    asked = document["settings"]
    assert (asked["hot"], asked["repack"], asked["devices"]) == (3, ["on"], ["X0", "X1"])
    assert asked["vram_bytes"] == GIB


def test_both_layouts_share_the_runs_of_stock(children: FakeChildren, model: Path) -> None:
    children.is_repacking = True
    words = ("--repack", "auto,off", "--compare", "stock", "--cap", "1GiB", "--json")
    document = json.loads(run_engine("bench", str(model), *words).out)
    # ours repacked, stock plain, stock repacked for its logits and uncapped, ours plain
    assert [(task.side, task.repack) for task in children.tasks] == [
        ("ours", "auto"), ("stock", "off"), ("stock", "on"), ("ours", "off"),
    ]  # fmt: skip
    assert children.caps == [GIB, GIB, None, GIB]
    assert [task.repack for task in children.resident_tasks] == ["on", "off"], "as ours was laid out"
    assert [row["repack"] for row in document["rows"]] == ["auto"] * 3 + ["off"] * 3
    assert [row["is_repacked"] for row in document["rows"]] == [True] * 3 + [False] * 3
    assert [row["repack_reason"] for row in document["rows"]] == ["Few experts must be rewritten."] * 3 + [
        None
    ] * 3
    assert len(document["stock"]) == 3
    assert [run["repack"] for run in document["ratios_by_run"]] == ["auto", "off"]
    assert document["identical_logits"] is True


@pytest.mark.parametrize("words", [("--unit", "3,3"), ("--prompt-tokens", "64,"), ("--repack", "yes")])
def test_bad_lists_are_bad_usage(children: FakeChildren, model: Path, words: tuple[str, str]) -> None:
    assert run_engine("bench", str(model), *words).code == 2
    assert children.tasks == []


def test_table_shows_figures_and_conditions(children: FakeChildren, model: Path) -> None:
    children.refusal = "no control group may be made (Permission denied)"
    printed = run_engine("bench", str(model), "--compare", "stock", "--cap", "2GiB")
    cells = [cell.strip() for cell in printed.out.splitlines()[4].split("|")[1:-1]]
    assert cells == [
        "4a cold", "auto: 16", "1.00", "32.00", "2.00", "12.50%", "6.25%", "1,000", "572 MiB",
        "1.10", "133%", "2.00", "1 GiB",
    ]  # fmt: skip
    assert "cap of 2 GiB not enforced: no control group may be made (Permission denied)" in printed.out
    assert "cold: dropped" in printed.out
    assert "bit-identical to stock" in printed.out
    assert "run 1 of 1: 64 tokens, unit auto, ours" in printed.err


def test_markdown_is_one_document_that_renders_as_tables(children: FakeChildren, model: Path) -> None:
    words = ("--compare", "stock", "--unit", "3,auto", "--prompt-tokens", "64,512", "--repack", "auto,off")
    printed = run_engine("bench", str(model), *words, "--markdown")
    html = MarkdownIt("commonmark").enable("table").render(printed.out)
    titles = re.findall(r"<h[12]>(.*?)</h[12]>", html)
    assert titles == [
        "Bench: synthetic qwen3moe 4x16", "Ours", "Stock llama.cpp (mapped, no repacking)",
        "Ours over stock, above 1 is better", "Distance to the limit", "Conditions",
    ]  # fmt: skip
    rows = [
        len(re.findall("<tr>", table)) - 1 for table in re.findall(r"<table>.*?</table>", html, re.DOTALL)
    ]
    assert rows == [2 * 2 * 2 * 3, 2 * 2 * 3, 2 * 2 * 2, 2 * 2 * 2 * 2]
    assert "<li>logits: bit-identical to stock</li>" in html
    assert "<li>repack auto: Few experts must be rewritten.</li>" in html
    assert html.count(">auto: off</td>") == 2 * 2 * 3
    assert run_engine("bench", str(model), "--markdown", "--json").code == 2


def test_budget_above_the_cap_is_refused(children: FakeChildren, model: Path) -> None:
    printed = run_engine("bench", str(model), "--cap", "1GiB", "--ram", "2GiB")
    assert (printed.code, children.tasks) == (2, [])


# --- one child --------------------------------------------------------------------------------

TASK = BenchTask("ours", "m.gguf", 5, 2, 256, 2, 259, 1)


def test_outcomes_of_a_child() -> None:
    good = report().to_json()
    assert parse_outcome(TASK, 0, f"noise\n{good}\n", "", None) == report()
    fault = {
        "type": "error",
        "kind": "BudgetError",
        "fault": "Too small.",
        "next_step": "Raise.",
        "settings": ["ram_budget_bytes"],
        "detail": "d",
    }
    with pytest.raises(BudgetError, match=r"Too small\. Raise\.") as too_small:
        parse_outcome(TASK, 2, json.dumps(fault), "", None)
    assert too_small.value.settings == ("ram_budget_bytes",)
    with pytest.raises(EngineError, match="did not fit into 1 GiB"):
        parse_outcome(TASK, -9, "", "", GIB)
    with pytest.raises(EngineError, match="without a result") as caught:
        parse_outcome(TASK, 1, "", "Segmentation fault", None)
    assert caught.value.detail == "Segmentation fault"


class CountingSide:
    """The next token is the number of tokens seen; each token reads ten bytes."""

    unit_tokens, expert_bytes, budget_bytes, is_repacked = 1, 0, None, False
    notes: tuple[str, ...] = ()
    placement: dict[str, object] = {}  # noqa: RUF012 - never changed

    def __init__(self) -> None:
        self.cached: list[int] = [99]
        self.read_bytes = 1000
        self.prefills: list[bool] = []

    def clear(self) -> None:
        self.cached.clear()

    def evaluate(self, tokens: list[int], position: int, is_prefill: bool) -> Logits:
        assert position == len(self.cached)
        self.prefills.append(is_prefill)
        self.cached += tokens
        self.read_bytes += 10 * len(tokens)
        logits: Logits = np.zeros(50, np.float32)
        logits[len(self.cached)] = 1
        return logits

    def costs(self) -> PassCosts:
        return PassCosts(self.read_bytes)

    def note_residency(self) -> None:
        self.noted_at = len(self.prefills)

    def needed_bytes(self) -> int:
        return 7 * (len(self.prefills) - self.noted_at)

    def close(self) -> None: ...


def test_a_state_starts_empty_and_decodes_greedily() -> None:
    side = CountingSide()
    measured = run_state(side, "cold", [7, 8, 9], 2)
    assert side.cached == [7, 8, 9, 3, 4]
    assert side.prefills == [True, False, False]
    assert (measured.prompt_tokens, len(measured.step_ns), len(measured.logits)) == (3, 2, 3)
    assert len(set(measured.logits)) == 3
    assert (measured.costs, measured.prefill_costs) == (PassCosts(50), PassCosts(30))
    assert measured.decode_costs == PassCosts(20)
    assert measured.needed_bytes == 7, "what the prompt needed, before decoding"
    assert measured.peak_rss_bytes > 10 << 20


def test_prompts_are_repeatable_and_fit_the_vocabulary() -> None:
    large = replace(TASK, n_vocab=150_000, prompt_tokens=500)
    small = replace(TASK, prompt_tokens=500)
    assert prompt_of(large, 1) == prompt_of(large, 1) != prompt_of(large, 2)
    assert all(256 <= token < 150_000 for token in prompt_of(large, 1))
    assert all(0 <= token < 256 for token in prompt_of(small, 1))


def test_drive_is_measured_on_whole_expert_slices(tmp_path: Path) -> None:
    path = tiny_model("sharded", tmp_path)
    model = read_model(path)
    spans = list(expert_spans(model, expert_layout(model), 500))
    slices = {
        ReadSpan(shard, int(t.data_offset) + e * int(t.n_bytes) // 16, int(t.n_bytes) // 16)
        for shard in sorted(tmp_path.glob("sharded-*.gguf"))
        for t in GGUFReader(shard).tensors
        if "_exps.weight" in t.name
        for e in range(16)
    }
    assert len(spans) == 500
    assert set(spans) <= slices
    assert len(set(spans)) > len(slices) / 2


def test_a_dense_model_is_measured_within_its_file(tmp_path: Path) -> None:
    path = tiny_model("llama", tmp_path)
    model = read_model(path)
    size_bytes = path.stat().st_size
    for span in expert_spans(model, expert_layout(model), 50):
        assert span.offset_bytes >= 0
        assert span.offset_bytes + span.size_bytes <= size_bytes
