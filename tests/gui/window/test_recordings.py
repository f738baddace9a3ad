"""Record a run from the menu, open it again, export its figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QImage
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from engine.events import CountersSampled, GenerationFinished, ModelLoaded
from engine.telemetry.trace_file import read_trace
from tests.support.running_window import OpenWindow, RunningWindow

GOLDEN = Path(__file__).parents[2] / "golden" / "small_run.embertrace"


def answer(scene: RunningWindow, question: str) -> None:
    scene.say(question)
    scene.until(lambda: len(scene.window.telemetry.answers) == 1)
    scene.until_idle()


def test_a_run_is_recorded_without_its_text(open_window: OpenWindow, tmp_path: Path) -> None:
    scene = open_window()
    scene.load()
    actions, recordings = scene.window._menus.actions, scene.window.recordings
    assert not actions["Stop recording"].isEnabled()
    path = tmp_path / "run.embertrace"
    recordings.record(path)
    assert recordings.is_recording
    assert not actions["Record this run"].isEnabled()
    answer(scene, "a secret question")
    actions["Stop recording"].trigger()
    assert not recordings.is_recording
    assert actions["Record this run"].isEnabled()
    events = list(read_trace(path))
    # it began after the load, yet knows the model
    assert isinstance(events[0], ModelLoaded)
    finished = [event for event in events if isinstance(event, GenerationFinished)]
    samples = [event for event in events if isinstance(event, CountersSampled)]
    assert len(finished) == 1
    assert samples[-1].counters == scene.window.telemetry.counters
    assert finished[0].usage == scene.window.telemetry.answers[-1].usage
    assert finished[0].ttft == scene.window.telemetry.answers[-1].ttft
    assert finished[0].ttft.first_paint_ns > 0
    assert "secret" not in path.read_text(encoding="utf-8")
    assert "bold" not in path.read_text(encoding="utf-8")


def test_the_recording_shows_what_was_live(open_window: OpenWindow, tmp_path: Path) -> None:
    scene = open_window()
    path = tmp_path / "run.embertrace"
    scene.window.recordings.record(path)
    scene.load()
    answer(scene, "hello")
    scene.window.recordings.stop()
    scene.window.recordings.open_recording(path)
    shown, live = scene.window.inspector.store, scene.window.telemetry
    assert scene.window.inspector.is_replaying
    assert shown is not live
    assert shown.counters == live.counters
    assert list(shown.answers) == list(live.answers)
    assert shown.context_used_tokens == live.context_used_tokens
    scene.window.inspector.close_recording()
    assert scene.window.inspector.store is live


def test_a_dropped_recording_opens(qtbot: QtBot, open_window: OpenWindow) -> None:
    scene = open_window()
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(GOLDEN))])
    button, modifier = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    drop = QDropEvent(QPointF(5, 5), Qt.DropAction.CopyAction, data, button, modifier)
    scene.window.dropEvent(drop)
    qtbot.waitUntil(lambda: scene.window.inspector.is_replaying)
    assert scene.window.inspector.replay_bar.words.startswith("Recording “small_run.embertrace”")


def test_exports_are_of_what_is_shown(open_window: OpenWindow, tmp_path: Path) -> None:
    recordings = open_window().window.recordings
    recordings.open_recording(GOLDEN)
    recordings.export_csv(tmp_path / "figures.csv")
    recordings.export_chrome_trace(tmp_path / "figures.json")
    recordings.export_picture(tmp_path / "inspector.png")
    assert len((tmp_path / "figures.csv").read_text(encoding="utf-8").splitlines()) == 28
    assert json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))["traceEvents"]
    assert not QImage(str(tmp_path / "inspector.png")).isNull()


@pytest.mark.parametrize("act", ["record", "open_recording", "compare_with", "export_csv", "export_picture"])
def test_faults_are_told_in_words(open_window: OpenWindow, tmp_path: Path, act: str) -> None:
    scene = open_window()
    getattr(scene.window.recordings, act)(tmp_path / "missing" / "run.embertrace")
    boxes = scene.window.findChildren(QMessageBox)
    assert [box.text() for box in boxes if "run.embertrace" in box.text()]
    assert not scene.window.recordings.is_recording
    for box in boxes:
        box.close()
