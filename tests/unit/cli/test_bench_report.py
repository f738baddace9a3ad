"""Rows, ratios and limits, worked by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.cli import bench_report
from engine.cli.bench_records import BenchCase, BenchRun, BenchTask, ChildReport, PassCosts
from tests.support.bench_reports import OUR_COSTS, SECOND_NS, STOCK_COSTS, report, state_pass

CASE = BenchCase(64)


def test_rows_hold_the_medians_and_the_highest_peak() -> None:
    reports = [
        report(load_ns=3 * SECOND_NS, cold=state_pass("cold", prefill_ns=1 * SECOND_NS, peak_rss_bytes=5)),
        report(load_ns=1 * SECOND_NS, cold=state_pass("cold", prefill_ns=4 * SECOND_NS, peak_rss_bytes=9)),
        report(load_ns=2 * SECOND_NS, cold=state_pass("cold", prefill_ns=2 * SECOND_NS, peak_rss_bytes=7)),
    ]
    cold, warm, rotating = bench_report.our_rows(BenchRun(CASE, reports), 1e9)
    assert [row["state"] for row in (cold, warm, rotating)] == ["cold", "warm-identical", "rotating"]
    assert (cold["load_seconds"], warm["load_seconds"]) == (2.0, None)
    assert cold["prefill_tokens_per_second"] == 32.0  # 64 tokens in 2 s
    assert cold["decode_tokens_per_second"] == 2.0  # 2 tokens in 1 s
    assert (cold["peak_rss_bytes"], cold["runs"]) == (9, 3)
    assert (cold["unit"], cold["requested_unit"]) == (16, "auto")
    assert (cold["disk_share"], cold["disk_share_of_picks"]) == (50 / 400, 50 / 800)
    assert cold["transfer_wait_ns"] == 0


def test_rows_have_every_key_of_the_schema() -> None:
    wanted = {
        "state", "unit", "load_seconds", "prefill_tokens_per_second", "decode_tokens_per_second",
        "disk_share", "disk_wait_ns", "transfer_wait_ns", "bytes_read", "peak_rss_bytes",
    }  # fmt: skip
    for side in ("ours", "stock"):
        for row in bench_report.side_rows([report(side)], CASE, 1e9):
            assert wanted <= row.keys()
    assert bench_report.side_rows([], CASE, 1e9) == []


def test_stock_rows_say_nothing_they_can_not_know() -> None:
    row = bench_report.side_rows([report("stock")], CASE, 1e9)[0]
    unknown = ("disk_share", "disk_wait_ns", "transfer_wait_ns", "limit_ratio", "read_amplification")
    assert [row[name] for name in unknown] == [None] * 5
    assert row["bytes_read"] == STOCK_COSTS.bytes_read


def test_read_figures() -> None:
    assert bench_report.read_amplification(OUR_COSTS, 10_000_000) == pytest.approx(1.1)
    assert bench_report.read_rate_share(OUR_COSTS, 2e9) == pytest.approx(0.6)  # 1.2 of 2 GB/s
    warm = PassCosts(0, 0, 0, 0, 0, 400, 0, 0, 0)
    assert bench_report.disk_share(warm) == 0.0
    assert bench_report.read_amplification(warm, 10_000_000) is None
    assert bench_report.read_rate_share(warm, 2e9) is None
    assert bench_report.disk_share(STOCK_COSTS) is None


def test_ratios_are_ours_over_stock_medians() -> None:
    ours = [report(load_ns=ns) for ns in (SECOND_NS, 2 * SECOND_NS, 30 * SECOND_NS)]
    slow = state_pass("rotating", prefill_ns=4 * SECOND_NS, costs=STOCK_COSTS)
    cold = state_pass("cold", prefill_ns=6 * SECOND_NS, costs=STOCK_COSTS)
    stock = [report("stock", load_ns=8 * SECOND_NS, rotating=slow, cold=cold)] * 3
    ratios = bench_report.ratios(BenchRun(CASE, ours, stock))
    assert ratios == pytest.approx({"load": 4.0, "prefill_cold": 3.0, "prefill_steady": 2.0, "decode": 1.0})


def test_decode_ratio_compares_the_same_first_steps() -> None:
    second = SECOND_NS
    ours = report(rotating=state_pass("rotating", step_ns=(second, second, 9 * second, 9 * second)))
    stock = report("stock", rotating=state_pass("rotating", step_ns=(4 * second, 4 * second)))
    ratios = bench_report.ratios(BenchRun(CASE, [ours], [stock]))
    assert ratios is not None
    assert ratios["decode"] == pytest.approx(4.0)


def test_no_decode_ratio_without_decoded_tokens() -> None:
    stock = report("stock", rotating=state_pass("rotating", step_ns=()))
    ratios = bench_report.ratios(BenchRun(CASE, [report()], [stock]))
    assert ratios is not None
    assert "decode" not in ratios
    assert bench_report.ratios(BenchRun(CASE, [report()], [])) is None


@pytest.mark.parametrize(
    ("stock_logits", "is_identical"),
    [(("a", "b", "c"), True), (("a", "b"), True), (("a", "x"), False), (("x", "b", "c"), False)],
)
def test_logits_are_compared_step_by_step(stock_logits: tuple[str, ...], is_identical: bool) -> None:
    stock = report("stock", rotating=state_pass("rotating", logits=stock_logits))
    assert bench_report.identical_logits([BenchRun(CASE, [report()], [stock])]) is is_identical


def test_another_layout_of_weights_is_compared_with_the_reference() -> None:
    other = report("stock", rotating=state_pass("rotating", logits=("x", "y", "z")))
    same = report("stock", is_repacked=True)
    ours = report(is_repacked=True)
    assert bench_report.identical_logits([BenchRun(CASE, [ours], [other])]) is None
    assert bench_report.identical_logits([BenchRun(CASE, [ours], [other], reference=[same])]) is True
    on_device = replace(ours, placement={"devices": [{"name": "CUDA0"}]})
    assert bench_report.identical_logits([BenchRun(CASE, [on_device], [same])]) is None
    wrong = replace(other, is_repacked=True)
    assert bench_report.identical_logits([BenchRun(CASE, [ours], [other], reference=[wrong])]) is False


def test_time_is_split_into_parts_that_add_up() -> None:
    row = bench_report.side_rows([report()], CASE, 1e9)[0]
    second = SECOND_NS
    assert row["prefill"] == {
        "elapsed_ns": 2 * second, "compute_ns": 2 * second - second // 2 - second // 8,
        "disk_wait_ns": second // 2, "transfer_wait_ns": 0, "own_ns": second // 8,
        "bytes_read": 400_000_000, "disk_share": 0.1, "disk_share_of_picks": 0.05,
    }  # fmt: skip
    assert row["decode"] == {
        "elapsed_ns": second, "compute_ns": second - second // 2 - second // 8,
        "disk_wait_ns": second // 2, "transfer_wait_ns": 0, "own_ns": second // 8,
        "bytes_read": 200_000_000, "disk_share": 0.2, "disk_share_of_picks": 0.1,
    }  # fmt: skip
    stock = bench_report.side_rows([report("stock")], CASE, 1e9)[0]["decode"]
    assert stock == {
        "elapsed_ns": second, "compute_ns": None, "disk_wait_ns": None, "transfer_wait_ns": None,
        "own_ns": None, "bytes_read": 1_000_000_000, "disk_share": None, "disk_share_of_picks": None,
    }  # fmt: skip


def test_the_split_is_that_of_the_median_repetition() -> None:
    runs = [report(cold=state_pass("cold", prefill_ns=ns * SECOND_NS)) for ns in (9, 3, 4)]
    row = bench_report.side_rows(runs, CASE, 1e9)[0]
    split = row["prefill"]
    assert isinstance(split, dict)
    assert split["elapsed_ns"] == 4 * SECOND_NS


def test_logits_not_compared_are_none() -> None:
    assert bench_report.identical_logits([BenchRun(CASE, [report()])]) is None


def test_the_automatic_unit_is_the_headline() -> None:
    runs = [BenchRun(BenchCase(64, unit)) for unit in (3, None, 64)]
    assert bench_report.headline_run(runs) is runs[1]
    assert bench_report.headline_run(runs[2:]) is runs[2]


def test_records_survive_their_journey_as_json() -> None:
    task = BenchTask("ours", "m.gguf", 64, 8, 256, 2, 259, 1, unit_tokens=16, devices=("a", "b"))
    assert BenchTask.from_json(task.to_json()) == task
    for side in ("ours", "stock"):
        assert ChildReport.from_json(report(side).to_json()) == report(side)


def test_costs_since() -> None:
    later, earlier = PassCosts(10, 9, 8, 7, 6, 5, 4, 3, 2, 9), PassCosts(1, 2, 3, 4, 5, 5, 4, 1, 2, 4)
    assert later.since(earlier) == PassCosts(9, 7, 5, 3, 1, 0, 0, 2, 0, 5)
    assert PassCosts(10).since(PassCosts(4)) == PassCosts(6)
