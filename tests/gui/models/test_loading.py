"""Loading in the window: progress, cancel, wrong files, what is remembered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QApplication, QDialogButtonBox, QDoubleSpinBox, QSpinBox

from app.models.load_dialog import LoadDialog
from engine.backends.base import CancelToken, LoadReport, LoadResult
from engine.backends.fake import FakeBackend
from engine.config import GIB, LoadSettings
from engine.errors import BudgetError
from engine.gguf.reader import read_model
from tests.support.gguf_files import wrong_files
from tests.support.running_window import OpenWindow, RunningWindow, quick_backend


class ReadingBackend(FakeBackend):
    """Reads the file for real, then pretends to run it."""

    def load(
        self, settings: LoadSettings, report: Callable[[LoadReport], None], cancel: CancelToken
    ) -> LoadResult:
        read_model(settings.path)
        return super().load(settings, report, cancel)


def load_file(scene: RunningWindow, path: Path) -> None:
    scene.window.models.load(LoadSettings(path))
    scene.until(lambda: not scene.window.models.is_loading)


def test_every_wrong_file_gives_a_dialog_in_words(open_window: OpenWindow, tmp_path: Path) -> None:
    scene = open_window(ReadingBackend)
    folder = tmp_path / "wrong"
    folder.mkdir()
    for path in wrong_files(folder).values():
        load_file(scene, path)
        (box,) = scene.dialogs()
        assert box.text()
        assert box.informativeText()
        assert "Traceback" not in box.text() + box.detailedText()
        assert scene.window.models.line == "No model loaded"
        box.close()
        QApplication.sendPostedEvents(None, 52)  # the closed box is deleted


def test_cancel_ends_a_slow_load_without_a_dialog(open_window: OpenWindow) -> None:
    scene = open_window(lambda: quick_backend(load_seconds=600.0))
    scene.window.models.simulate()
    scene.until(lambda: "Reading the dense weights" in scene.window.models.panel.text)
    assert scene.window.models.panel.isVisible()
    assert scene.window.models.line == "Loading a simulated model…"
    scene.qtbot.keyClick(scene.window, Qt.Key.Key_Escape)
    scene.until(lambda: not scene.window.models.is_loading)
    assert not scene.window.models.panel.isVisible()
    assert scene.dialogs() == []
    assert scene.window.notice.text == "Loading was stopped."


def test_a_budget_that_is_too_small_says_so(open_window: OpenWindow) -> None:
    scene = open_window(lambda: quick_backend(load_failure=BudgetError("Too small.", "Give it more.", "d")))
    scene.window.models.simulate()
    scene.until(lambda: bool(scene.dialogs()))
    (box,) = scene.dialogs()
    assert (box.text(), box.informativeText(), box.detailedText()) == ("Too small.", "Give it more.", "d")


def test_a_loaded_file_is_remembered_with_its_settings(open_window: OpenWindow, tmp_path: Path) -> None:
    path = tmp_path / "専門 モデル.gguf"
    scene = open_window(quick_backend)
    settings = LoadSettings(path, ram_budget_bytes=6 * GIB, context_tokens=2048)
    scene.window.models.load(settings)
    scene.until(lambda: scene.window.models.model is not None)
    assert scene.window.models.recent.all() == [path]
    assert scene.window.models.asked_for(path) == settings
    assert "6 GiB memory budget · context 2,048 tokens" in scene.window.models.line


def test_a_dropped_file_asks_for_memory_and_context(open_window: OpenWindow, tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.touch()
    scene = open_window(quick_backend)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    drop = QDropEvent(
        QPointF(10, 10),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    scene.window.dropEvent(drop)
    scene.until(lambda: bool(scene.window.findChildren(LoadDialog)))
    (dialog,) = scene.window.findChildren(LoadDialog)
    dialog.findChild(QDoubleSpinBox).setValue(6.5)
    dialog.findChild(QSpinBox).setValue(1024)
    button = dialog.findChild(QDialogButtonBox).button(QDialogButtonBox.StandardButton.Open)
    scene.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    scene.until(lambda: scene.window.models.model is not None)
    assert scene.window.models.model.ram_budget_bytes == 13 * GIB // 2
    assert scene.window.models.model.context_tokens == 1024


@pytest.mark.parametrize(
    "stored", ["", "nonsense", "[1, [2]]", '{"a": 1}', '[["p", "x", null]]', "[3, null]"]
)
def test_damaged_settings_are_ignored(open_window: OpenWindow, tmp_path: Path, stored: str) -> None:
    scene = open_window()
    scene.settings.setValue("models/recent", stored)
    assert scene.window.models.recent.all() == []
