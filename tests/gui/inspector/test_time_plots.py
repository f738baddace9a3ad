"""Zoom, pan, selection and its sums."""

from __future__ import annotations

import dataclasses

import pyqtgraph as pg
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.inspector.time_plots import TimePlots
from app.inspector.time_view import TimeView
from app.telemetry_store import TelemetryStore
from engine.events import Counters, CountersSampled
from engine.model_facts import DeviceInfo
from tests.support.telemetry_events import SECOND_NS, counters_event, load_events, model_info


def store_of_twenty_seconds() -> TelemetryStore:
    """A sample per second; 100 MB and 2 decoded tokens in each, 1 GB in the one that ends at 10 s."""
    store = TelemetryStore()
    extra = [900_000_000 if t >= 10 else 0 for t in range(21)]
    store.apply(
        [
            counters_event(
                t, bytes_read=t * 100_000_000 + extra[t], decode_tokens=2 * t, decode_ns=t * SECOND_NS,
                disk_wait_decode_ns=t * SECOND_NS // 4, expert_requests=30 * t, expert_misses=3 * t,
            )
            for t in range(21)
        ]
    )  # fmt: skip
    return store


def shown_view(qtbot: QtBot) -> TimeView:
    view = TimeView()
    qtbot.addWidget(view)
    view.resize(420, 600)
    view.show()
    view.draw(store_of_twenty_seconds())
    return view


def plots_of(view: TimeView) -> TimePlots:
    return view.findChild(TimePlots)


def test_a_selection_is_summed_from_the_counters(qtbot: QtBot) -> None:
    view = shown_view(qtbot)
    plots_of(view).select_wanted.emit(-8.2, -11.9)  # 8.1 s to 11.8 s: the seconds 9, 10, 11 and 12
    assert view.figures_text == (
        "Selected 4 s: prefill 0 tokens (n/a), decode 8 tokens (2.0 tok/s); "
        "disk read 1.21 GiB, 155 MiB per token, at 325 MB/s (maximum not measured); "
        "stood still for the disk 1,000 ms (25 %); expert requests 120, misses 12, evictions 0."
    )
    qtbot.keyClick(plots_of(view), Qt.Key.Key_Delete)
    assert view.figures_text.startswith("Last 5 s:")


def test_keys_zoom_pan_select_and_follow(qtbot: QtBot) -> None:
    view = shown_view(qtbot)
    plots = plots_of(view)
    qtbot.keyClick(plots, Qt.Key.Key_W)
    assert view.axis.shown.span_ns == 48 * SECOND_NS  # 60 s / 1.25
    qtbot.keyClick(plots, Qt.Key.Key_S)
    assert view.axis.shown.span_ns == 60 * SECOND_NS
    view.axis.show_last(10)
    qtbot.keyClick(plots, Qt.Key.Key_A)
    assert (view.axis.shown.end_ns, view.axis.is_following) == (18 * SECOND_NS, False)
    qtbot.keyClick(plots, Qt.Key.Key_R)
    assert view.figures_text.startswith("Selected 10 s: prefill 0 tokens (n/a), decode 20 tokens")
    qtbot.keyClick(plots, Qt.Key.Key_Space)
    assert (view.axis.shown.end_ns, view.axis.is_following) == (20 * SECOND_NS, True)


def test_a_drag_selects_and_the_wheel_zooms(qtbot: QtBot) -> None:
    view = shown_view(qtbot)
    qtbot.waitExposed(view)
    target = plots_of(view).findChild(pg.GraphicsView).viewport()
    middle = target.height() // 2
    for act, x in ((qtbot.mousePress, 250), (qtbot.mouseMove, 300), (qtbot.mouseRelease, 300)):
        button = () if act == qtbot.mouseMove else (Qt.MouseButton.LeftButton,)
        act(target, *button, pos=QPoint(x, middle))
    assert view.axis.selection is not None
    assert view.figures_text.startswith("Selected")
    spin_wheel(target, QPoint(250, middle), 120)
    assert view.axis.shown.span_ns == 48 * SECOND_NS
    qtbot.mouseClick(target, Qt.MouseButton.LeftButton, pos=QPoint(250, middle))
    qtbot.waitUntil(lambda: view.axis.selection is None)


def test_the_drives_own_rate_counts_if_the_engine_measured_it(qtbot: QtBot) -> None:
    view = TimeView()
    qtbot.addWidget(view)
    store = store_of_twenty_seconds()
    store.model = dataclasses.replace(model_info(), drive_bytes_per_second=2e9)
    view.draw(store)
    # the last 5 s read 100 MB/s
    assert "disk read 100 MB/s, 5 % of the measured maximum (2 GB/s)" in view.figures_text
    assert plots_of(view).load_marks == ("0%", "50%", "100%")


def test_a_lane_and_words_for_the_link_only_where_there_is_a_device(qtbot: QtBot) -> None:
    view = shown_view(qtbot)
    assert not plots_of(view).has_link
    assert "link" not in view.figures_text
    device = DeviceInfo("CUDA0", "a card", 12 << 30, 10 << 30, 9 << 30, (3,), 2e9)
    store = TelemetryStore()
    store.apply(load_events(dataclasses.replace(model_info(), devices=(device,))))
    store.apply(
        [
            counters_event(0),
            CountersSampled(
                t_ns=4 * SECOND_NS,
                counters=Counters(bytes_by_link={"CUDA0": 2 * 10**9}, transfer_wait_decode_ns=SECOND_NS),
            ),
        ]
    )
    view.draw(store)
    assert plots_of(view).has_link
    assert "copied to devices 500 MB/s, 25 % of the measured maximum (2 GB/s)" in view.figures_text
    assert view.figures_text.endswith(
        "computed 75 % of the time, stood still for the disk 0 %, for the link 25 %."
    )
    view.draw(store_of_twenty_seconds())
    assert not plots_of(view).has_link


def test_a_plot_drawn_before_it_is_laid_out_shows_every_step(qtbot: QtBot) -> None:
    view = TimeView()
    qtbot.addWidget(view)
    view.draw(store_of_twenty_seconds())
    curve = plots_of(view).lanes[1].curves["bytes_per_second"]
    # 20 intervals of a second; all but the tenth read 100 MB
    assert sorted(curve.yData.tolist()) == [1e8] * 38 + [1e9] * 2
    view.resize(900, 600)
    view.show()
    qtbot.waitExposed(view)
    assert len(curve.yData) == 40


def spin_wheel(target: QWidget, place: QPoint, angle: int) -> None:
    event = QWheelEvent(
        QPointF(place), QPointF(target.mapToGlobal(place)), QPoint(), QPoint(0, angle),
        Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(target, event)
