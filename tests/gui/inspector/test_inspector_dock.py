"""When the dock draws, and that what it shows are the counters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QLabel,
    QMainWindow,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.inspector.evidence import Verdict
from app.inspector.inspector_dock import InspectorDock
from app.inspector.verdict_bar import VerdictBar
from app.telemetry_store import TelemetryStore
from engine.events import EngineState
from tests.support.telemetry_events import counters_event, load_events, model_info, state_event


class CountingView:
    """Stands in for a tab and counts its drawings."""

    def __init__(self) -> None:
        self.draws = 0

    def draw(self, store: TelemetryStore) -> None:
        self.draws += 1


class Scene:
    """A window with the dock, its store, and one counting view per tab."""

    def __init__(self, qtbot: QtBot) -> None:
        self.store = TelemetryStore()
        self.window = QMainWindow()
        qtbot.addWidget(self.window)
        self.window.setCentralWidget(QLabel("chat"))
        self.dock = InspectorDock(self.store)
        self.window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, self.dock)
        self.window.resize(1280, 800)

    def show(self, qtbot: QtBot) -> None:
        self.window.show()
        qtbot.waitExposed(self.window)
        qtbot.waitUntil(lambda: self.dock.is_seen)

    def tabs(self) -> QTabWidget:
        return self.dock.findChild(QTabWidget)

    def count(self, monkeypatch: pytest.MonkeyPatch) -> list[CountingView]:
        views = [CountingView() for _ in range(self.tabs().count())]
        monkeypatch.setattr(self.dock, "_views", views)
        return views


@pytest.fixture
def scene(qtbot: QtBot) -> Iterator[Scene]:
    scene = Scene(qtbot)
    yield scene
    scene.window.close()


def test_a_hidden_dock_draws_nothing(qtbot: QtBot, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    views = scene.count(monkeypatch)
    scene.store.apply([counters_event(1)])
    scene.dock.refresh()
    assert [view.draws for view in views] == [0] * len(views)
    scene.show(qtbot)
    scene.dock.refresh()
    drawn = views[0].draws
    assert drawn >= 1
    scene.dock.hide()
    scene.store.apply([counters_event(2)])
    scene.dock.refresh()
    assert views[0].draws == drawn
    assert not scene.dock.is_refreshing


def test_a_dock_behind_another_tab_draws_nothing(
    qtbot: QtBot, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = QDockWidget("Other")
    other.setWidget(QLabel("other"))
    scene.window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, other)
    scene.window.tabifyDockWidget(scene.dock, other)
    scene.dock.raise_()
    scene.show(qtbot)
    views = scene.count(monkeypatch)
    other.raise_()
    qtbot.waitUntil(lambda: not scene.dock.is_seen)
    scene.store.apply([counters_event(3)])
    scene.dock.refresh()
    assert sum(view.draws for view in views) == 0


def test_only_changes_and_only_the_tab_in_front_are_drawn(
    qtbot: QtBot, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.show(qtbot)
    views = scene.count(monkeypatch)
    scene.store.apply([counters_event(1)])
    for _ in range(5):
        scene.dock.refresh()
    assert [view.draws for view in views] == [1, *[0] * (len(views) - 1)]
    scene.tabs().setCurrentIndex(2)
    assert [view.draws for view in views] == [1, 0, 1, *[0] * (len(views) - 3)]


def test_the_timer_draws_by_itself_while_visible(
    qtbot: QtBot, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.show(qtbot)
    views = scene.count(monkeypatch)
    scene.store.apply([counters_event(1)])
    qtbot.waitUntil(lambda: views[0].draws == 1)


def test_pause_keeps_the_picture(qtbot: QtBot, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.show(qtbot)
    views = scene.count(monkeypatch)
    scene.dock.set_paused(True)
    scene.store.apply([counters_event(1)])
    scene.dock.refresh()
    assert views[0].draws == 0
    scene.dock.set_paused(False)
    assert views[0].draws == 1


def test_the_verdict_comes_from_the_counters(qtbot: QtBot, scene: Scene) -> None:
    scene.show(qtbot)
    scene.store.apply([*load_events(model_info()), counters_event(1)])
    scene.dock.refresh()
    assert scene.dock.verdict_text.startswith("Idle:")
    scene.store.apply(
        [
            state_event(1, EngineState.GENERATING),
            counters_event(
                3, disk_wait_decode_ns=10**9, bytes_read=10**9, expert_requests=9, expert_misses=5
            ),
        ]
    )
    scene.dock.refresh()
    assert scene.dock.verdict_text == (
        "Waiting for disk 50 % of the last 2 s (500 MB/s read); more slots would help: "
        "raise the RAM budget of 954 MiB in Budget (967 MiB would hold every expert)."
    )
    assert scene.dock.verdict_bar.context == (
        "KV cache: 0 B of 9.54 MiB (0 of 4,096 tokens), 2.38 KiB per token."
    )
    assert scene.dock.verdict_bar.rule == ""
    scene.dock.verdict_bar.show_rule(True)
    assert "1,000 ms of 2,000 ms" in scene.dock.verdict_bar.rule


def test_what_stands_below_stays_when_the_sentence_gets_shorter(qtbot: QtBot) -> None:
    page, bar, below = QWidget(), VerdictBar(), QLabel("below")
    qtbot.addWidget(page)
    layout = QVBoxLayout(page)
    layout.addWidget(bar)
    layout.addWidget(below, 1)
    page.resize(400, 600)
    page.show()
    qtbot.waitExposed(page)
    bar.show_verdict(Verdict("A sentence that needs many lines in a narrow dock. " * 4, ""))
    qtbot.waitUntil(lambda: below.y() > 80)
    top = below.y()
    bar.show_verdict(Verdict("Idle.", ""))
    for _ in range(5):
        QApplication.processEvents()
    assert below.y() == top
    page.resize(1600, 600)
    qtbot.waitUntil(lambda: below.y() < top)


def test_fidelity_shows_with_resident_routing_only(qtbot: QtBot, scene: Scene) -> None:
    scene.show(qtbot)
    scene.store.apply([*load_events(model_info()), counters_event(1)])
    scene.dock.refresh()
    assert scene.dock.fidelity.isHidden()
    scene.store.apply(
        [counters_event(2, ranks_routed=4000, ranks_replaced=500, gate_mass_wanted=80.0, gate_mass_used=77.6)]
    )
    scene.dock.refresh()
    assert scene.dock.fidelity.isVisible()
    assert scene.dock.fidelity.text() == (
        "Resident routing: 12 % of ranks replaced, 3 % of the gate mass lost; "
        "clearly different: about 1 token in 10 is another one; check what matters with exact routing."
    )


def test_controls_have_names(scene: Scene) -> None:
    unnamed: list[Any] = [
        box
        for kind in ("QComboBox", "QPushButton", "QTabWidget", "ExpertMap")
        for box in scene.dock.findChildren(object)
        if type(box).__name__ == kind and not (box.accessibleName() or getattr(box, "text", str)())
    ]
    assert unnamed == []


def test_every_tab_fits_a_narrow_dock(qtbot: QtBot, scene: Scene) -> None:
    scene.show(qtbot)
    for index in range(scene.tabs().count()):
        scene.tabs().setCurrentIndex(index)
        scene.dock.refresh()
        assert scene.tabs().currentWidget().widget().minimumSizeHint().width() <= 380
    assert scene.dock.minimumSizeHint().width() <= 420
