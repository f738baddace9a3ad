"""Pictures of a bench: every bar is as long as its figure, and faults come before the measuring."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes

from engine.cli import bench_report
from engine.cli.bench_limits import limit_rows
from engine.cli.bench_plot import bench_figure, check_plot, save_plot
from engine.cli.bench_records import BenchCase, BenchRun
from engine.errors import UsageError
from tests.support.bench_reports import SECOND_NS, report, resident_report, state_pass
from tests.support.command_line import run_engine

DRIVE = 1e9


def document(*units: int | None, is_compared: bool = True) -> dict[str, Any]:
    """As `bench` makes it, from reports with round figures; the cold prompt takes 4 s, the others 2 s."""
    cold = state_pass("cold", prefill_ns=4 * SECOND_NS)
    runs = [
        BenchRun(
            BenchCase(64, unit),
            [report(cold=cold)],
            [report("stock")] if is_compared else [],
            [resident_report()],
        )
        for unit in units
    ]
    made = {
        "model": {"name": "m"},
        "cap_bytes": None,
        "cap_refusal": "",
        "budget_bytes": None,
        "threads": 2,
        "repeat": 1,
        "cold_note": "dropped",
        "rows": [row for run in runs for row in bench_report.our_rows(run, DRIVE)],
        "stock": [row for run in runs for row in bench_report.side_rows(run.stock, run.case, DRIVE)],
        "stock_kind": "stock" if is_compared else None,
        "drive_bytes_per_second": DRIVE,
        "limits": [row for run in runs for row in limit_rows(run, DRIVE)],
        "limit_note": "",
        "identical_logits": None,
        "notes": [],
    }
    return json.loads(json.dumps(made))


def bars(axes: Axes, height: float) -> list[float]:
    """Lengths of the bars of this height, from top to bottom and from left to right."""
    found = [p for p in axes.patches if p.get_height() == pytest.approx(height)]
    return [float(p.get_width()) for p in sorted(found, key=lambda p: (p.get_y(), p.get_x()))]


OURS, STOCK = 0.46, 0.2


def test_bars_are_as_long_as_the_figures() -> None:
    prompt, time, read, decoding, per_token, read_per_token = bench_figure(document(None)).axes
    assert bars(prompt, OURS) == [16, 32, 32]  # 64 tokens in 4 and 2 s
    assert bars(prompt, STOCK) == [32, 32, 32]
    # compute, drive, device, our own: 0.5 s waiting and 0.125 s of our code
    assert bars(time, OURS)[:4] == [3.375, 0.5, 0, 0.125]
    assert sum(bars(time, OURS)[4:8]) == 2
    assert bars(read, OURS) == pytest.approx([400e6 / 2**20] * 3)
    assert bars(decoding, OURS) == [2, 2, 2]
    assert bars(per_token, OURS)[:4] == [187.5, 250, 0, 62.5]  # two tokens in a second
    assert bars(read_per_token, OURS) == pytest.approx([100e6 / 2**20] * 3)


def test_marks_are_at_the_limit_and_at_the_bytes_needed() -> None:
    _, time, read, *_ = bench_figure(document(None)).axes
    marks = [[float(line.get_xdata()[0]) for line in axes.lines] for axes in (time, read)]
    assert marks[0] == pytest.approx([1.0] * 3)  # computing with all in memory takes 1 s
    assert marks[1] == pytest.approx([300e6 / 2**20] * 3)
    texts = [text.get_text().strip() for text in time.texts]
    assert "4  (4.00 × limit)" in texts
    assert "2  (2.00 × limit)" in texts


def test_a_far_slower_rival_is_cut_and_says_so() -> None:
    _, _, read, *_ = bench_figure(document(None)).axes  # stock reads 3 GB, ours 0.4
    assert max(bars(read, STOCK)) == pytest.approx(1.6 * 400e6 / 2**20)
    assert "» 2,861" in [text.get_text().strip() for text in read.texts]


def test_cases_get_headings_only_where_there_are_several() -> None:
    one = [label.get_text() for label in bench_figure(document(None)).axes[0].get_yticklabels()]
    assert one == ["4a cold", "4b warm-identical", "rotating"]
    two = [label.get_text() for label in bench_figure(document(16, None)).axes[0].get_yticklabels()]
    assert two == ["unit 16", *one, "unit auto: 16", *one]


def test_without_stock_or_limits_there_is_still_a_picture(tmp_path: Path) -> None:
    plain = document(None, is_compared=False)
    for row in plain["rows"]:
        row["limit_ratio"] = row["needed_bytes"] = None
    save_plot(plain, tmp_path / "plain.png")
    head = (tmp_path / "plain.png").read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", head[16:24])
    assert width == 15 * 110
    assert height > 500


def test_bad_places_are_refused_before_measuring(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no name of a PNG"):
        check_plot(tmp_path / "plot.svg")
    with pytest.raises(UsageError, match="There is no folder"):
        check_plot(tmp_path / "missing" / "plot.png")
    printed = run_engine("bench", str(tmp_path / "no.gguf"), "--plot", str(tmp_path / "x.jpg"))
    assert printed.code == 2
    assert "PNG" in printed.err


def test_a_missing_matplotlib_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UsageError, match=r"extra “plot”"):
        check_plot(tmp_path / "plot.png")


def test_nothing_of_matplotlib_is_imported_unasked() -> None:
    code = "import sys, engine.cli.bench; sys.exit(any(m.startswith('matplotlib') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
