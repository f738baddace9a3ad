"""The golden recording on the screen: each figure by hand from what its maker says."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QComboBox, QTabWidget
from pytestqt.qtbot import QtBot

from app.inspector.expert_map import ExpertMap
from app.inspector.expert_view import ExpertView
from app.inspector.inspector_dock import InspectorDock
from app.inspector.numbers_view import NumbersView
from app.inspector.slots_view import SlotsView
from app.inspector.time_view import TimeView
from app.inspector.ttft_view import TtftView
from app.playback import Playback
from app.telemetry_store import TelemetryStore

GOLDEN = Path(__file__).parents[2] / "golden" / "small_run.embertrace"


@pytest.fixture
def dock(qtbot: QtBot) -> InspectorDock:
    dock = InspectorDock(TelemetryStore())
    qtbot.addWidget(dock)
    dock.resize(460, 800)
    dock.show()
    qtbot.waitUntil(lambda: dock.is_seen)
    dock.show_recording(Playback(GOLDEN))
    return dock


def show_tab(dock: InspectorDock, title: str) -> None:
    tabs = dock.findChild(QTabWidget)
    tabs.setCurrentIndex([tabs.tabText(i) for i in range(tabs.count())].index(title))


def test_the_bar_says_where_it_is(dock: InspectorDock) -> None:
    assert dock.replay_bar.words == "Recording “small_run.embertrace”, 14.5 of 14.5 s"
    dock.replay_bar.go_to(2.5)
    assert dock.replay_bar.words == "Recording “small_run.embertrace”, 2.5 of 14.5 s"


def test_the_verdict_while_prefilling(dock: InspectorDock) -> None:
    dock.replay_bar.go_to(2.5)
    # 4 half seconds of prefill since 0.5 s, in each 300 of 500 ms waited and 100 MB read
    assert dock.verdict_text == (
        "Waiting for disk 60 % of the last 2 s (200 MB/s read); more slots would help: "
        "raise the RAM budget of 954 MiB in Budget (967 MiB would hold every expert)."
    )
    dock.replay_bar.go_to(14.5)
    assert dock.verdict_text.startswith("Idle:")


def test_fidelity(dock: InspectorDock) -> None:
    # 3 of 24 ranks, 0.5 of 10.0 gate mass, in every half second
    assert dock.fidelity.text().startswith(
        "Resident routing: 12 % of ranks replaced, 5 % of the gate mass lost;"
    )


def test_experts(dock: InspectorDock) -> None:
    view = dock.findChild(ExpertView)
    dock.replay_bar.go_to(9.0)
    for box in view.findChildren(QComboBox):
        if box.accessibleName() == "Time counted":
            box.setCurrentText("Since the model was loaded")
    view.findChildren(ExpertMap)[0].cell_pointed.emit(1, 0)
    # two answers: 64 prefill tokens with 2 picks each, 32 decode tokens of which each expert got half
    assert view.reading == (
        "Layer 4, expert 0: RAM pool, 977 KiB. 128 uses in prefill, 16 in decode; "
        "last used in pass 40 of 40. Half of the layer’s picks go to 1 of 8 experts."
    )
    assert view.scale_words == "Uses since the model was loaded: 0 to 144"


def test_slots(dock: InspectorDock) -> None:
    show_tab(dock, "Slots")
    view = dock.findChild(SlotsView)
    dock.replay_bar.go_to(9.0)
    assert view.table_rows[0][:3] == ("RAM pool", "6", "6")
    assert view.table_rows[2][:2] == ("on disk only", "15")
    # 5 evictions in each half second of work; none in the pauses between answers
    assert view.hits_text == (
        "Hit rate: 80 % in the last 4 s, 80 % since the load. "
        "Evictions: 10.0/s in the last 4 s, 80 since the load."
    )


def test_time(dock: InspectorDock) -> None:
    show_tab(dock, "Time")
    view = dock.findChild(TimeView)
    dock.replay_bar.go_to(4.5)
    assert view.figures_text == (
        "Last 4 s: prefill 16.0 tok/s, decode 8.0 tok/s; disk read 200 MB/s (maximum not measured), "
        "15.9 MiB per token; computed 60 % of the time, stood still for the disk 40 %."
    )
    dock.replay_bar.go_to(14.5)
    assert "10 % of the measured maximum (2 GB/s)" in view.figures_text


def test_first_token(dock: InspectorDock) -> None:
    show_tab(dock, "First token")
    view = dock.findChild(TtftView)
    assert view.sentence.startswith("After the switch from Tiny to Large, load grew first: 0 ms to 1,500 ms.")
    phases = {row[0]: row[1:3] for row in view.rows}
    assert phases["time to first token"] == ("4,000 ms", "1,600 ms")
    assert phases["first paint"] == ("n/a", "n/a")  # no window was there to show it
    left_out = ("time to first token", "of it waiting for disk", "first paint")
    parts = [name for name in phases if name not in left_out]
    sums = [sum(float(phases[name][i].split()[0].replace(",", "")) for name in parts) for i in (0, 1)]
    assert sums == [pytest.approx(4000, rel=0.01), pytest.approx(1600, rel=0.01)]


def test_numbers(dock: InspectorDock) -> None:
    show_tab(dock, "Numbers")
    texts = dock.findChild(NumbersView).texts
    dock.replay_bar.go_to(9.0)
    texts = dock.findChild(NumbersView).texts
    expected = {
        "bytes read": "1.49 GiB", "expert requests": "480", "expert misses": "96", "hit rate": "80 %",
        "evictions": "80", "passes": "40", "tokens in prefill": "64", "tokens in decode": "32",
        "disk wait in prefill": "2,400 ms", "disk wait in decode": "800 ms",
        "of it filled": "133 KiB (56 of 4,096 tokens)",
        # 8 tok/s x (10^8 + 3 x 2 x 10^6) bytes
        "needed memory bandwidth": "848 MB/s",
    }  # fmt: skip
    assert {name: texts[name] for name in expected} == expected


def test_back_to_live_shows_the_engine(dock: InspectorDock) -> None:
    dock.replay_bar.closed.emit()
    assert not dock.is_replaying
    assert dock.replay_bar.isHidden()
    assert dock.verdict_text == "No model is loaded."


def test_two_runs_side_by_side(dock: InspectorDock) -> None:
    dock.replay_bar.go_to(9.0)
    view = dock.findChild(NumbersView)
    assert set(view.other_texts.values()) <= {""}
    dock.compare_with(Playback(GOLDEN))  # at its end: the second model, one answer
    shown, other = view.texts, view.other_texts
    assert (other["run"], other["model"]) == ("small_run.embertrace", "Large")
    assert (shown["bytes read"], other["bytes read"]) == ("1.49 GiB", "763 MiB")
    assert (shown["passes"], other["passes"]) == ("40", "20")
    assert (shown["prefill speed"], other["decode speed"]) == ("16.0 tok/s", "8.0 tok/s")
    view.compare_with(None, "")
    assert set(view.other_texts.values()) <= {""}
    assert view.texts["bytes read"] == "1.49 GiB"
