"""Graphics cards are looked at only while somebody may want to know."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMainWindow
from pytestqt.qtbot import QtBot

from app.gpu_watch import GpuWatch
from app.inspector.inspector_dock import InspectorDock
from app.telemetry_store import TelemetryStore
from engine.model_facts import DeviceInfo
from engine.telemetry.gpu_sampler import GpuSampler
from tests.support.fake_nvml import FakeCard, FakeNvml
from tests.support.telemetry_events import model_info

_CUDA = DeviceInfo("CUDA0", "Test Card", 1 << 30, 1 << 29, 1 << 28, (3,))


class Scene:
    """A window with the inspector in it, and a watch over a fake library."""

    def __init__(self, qtbot: QtBot, library: FakeNvml | None) -> None:
        self.window, self.dock = QMainWindow(), InspectorDock(TelemetryStore())
        self.window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, self.dock)
        qtbot.addWidget(self.window)
        self.sampler = GpuSampler(lambda: library, 0.01)
        self.watch = GpuWatch(self.dock, self.sampler, self.window)


MakeScene = Callable[[FakeNvml | None], Scene]


@pytest.fixture
def make_scene(qtbot: QtBot) -> Iterator[MakeScene]:
    made: list[Scene] = []

    def make(library: FakeNvml | None) -> Scene:
        made.append(Scene(qtbot, library))
        return made[-1]

    yield make
    for scene in made:
        scene.watch.close()
        assert not scene.sampler.is_running


def test_it_follows_the_inspector(qtbot: QtBot, make_scene: MakeScene) -> None:
    library = FakeNvml(FakeCard())
    scene = make_scene(library)
    scene.dock.hide()
    scene.window.show()
    assert not scene.watch.is_sampling
    assert library.calls == []
    scene.dock.show()
    qtbot.waitUntil(lambda: scene.sampler.latest is not None)
    scene.dock._tabs.setCurrentWidget(scene.dock._tabs.widget(scene.dock._tabs.count() - 1))
    qtbot.waitUntil(lambda: ("  power", "62 W") in scene.dock.budget.card_rows)
    scene.dock.hide()
    qtbot.waitUntil(lambda: library.calls[-1] == "shutdown")
    assert not scene.watch.is_sampling


def test_a_model_on_a_card_is_a_reason_of_its_own(qtbot: QtBot, make_scene: MakeScene) -> None:
    scene = make_scene(FakeNvml(FakeCard()))
    scene.dock.hide()
    scene.window.show()
    remote = replace(_CUDA, name="rpc:box:50052")
    scene.watch.take_model(replace(model_info(), devices=(remote,)))
    assert not scene.watch.is_sampling
    scene.watch.take_model(replace(model_info(), devices=(remote, _CUDA)))
    assert scene.watch.is_sampling
    qtbot.waitUntil(lambda: scene.sampler.latest is not None)
    scene.watch.take_model(None)
    assert not scene.watch.is_sampling


def test_without_a_card_it_gives_up(qtbot: QtBot, make_scene: MakeScene) -> None:
    scene = make_scene(None)
    scene.window.show()
    qtbot.waitUntil(lambda: scene.sampler.has_cards is False)
    qtbot.waitUntil(lambda: not scene.watch.is_sampling)
    scene.dock.hide()
    scene.dock.show()
    assert not scene.watch.is_sampling
    assert scene.dock.budget.card_rows == ()
