"""The whole window over a real engine with a simulated model, driven as a user would."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QApplication, QMessageBox
from pytestqt.qtbot import QtBot

from app.chosen_backend import SIMULATED_PATH
from app.engine_bridge import EngineBridge
from app.history.store import HistoryStore
from app.main_window import MainWindow, Surroundings
from app.theme import Theme
from engine.backends.base import InferenceBackend
from engine.backends.fake import FakeBackend
from engine.backends.fake_script import FakeScript
from engine.config import LoadSettings
from engine.service import Engine

PATIENCE_MS = 15_000
ANSWER = "# Title\n\nSome **bold** words.\n"


def quick_backend(**changes: object) -> InferenceBackend:
    """A simulated model that answers within milliseconds."""
    script = FakeScript(
        **{  # type: ignore[arg-type] # the fields' own types, given by the tests
            "answers": (),
            "default_answer": ANSWER,
            "load_seconds": 0.0,
            "initialise_seconds": 0.0,
            "prefill_token_seconds": 0.0,
            "decode_token_seconds": 0.0,
            "disk_bytes_per_second": 1e15,
            **changes,
        }
    )
    return FakeBackend(script)


class OpenWindow(Protocol):
    """The fixture `open_window`."""

    def __call__(self, factory: Callable[[], InferenceBackend] = ...) -> RunningWindow: ...


class RunningWindow:
    """A shown window, its bridge and its store."""

    def __init__(self, qtbot: QtBot, folder: Path, factory: Callable[[], InferenceBackend]) -> None:
        self.qtbot = qtbot
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        self.settings = QSettings(str(folder / "window.ini"), QSettings.Format.IniFormat)
        self.store = HistoryStore(folder / "conversations.sqlite3")
        self.bridge = EngineBridge(Engine(factory))
        self.theme = Theme(application)
        self.window = MainWindow(
            self.bridge,
            self.store,
            self.theme,
            Surroundings(folder, self.settings, LoadSettings(SIMULATED_PATH)),
        )
        self.window.show()
        qtbot.waitExposed(self.window)
        self._is_closed = False

    def close(self) -> None:
        """Quit as the program does; may be called twice."""
        if self._is_closed:
            return
        self._is_closed = True
        self.window.close()
        assert self.bridge.close(5.0)
        self.store.close()
        self.settings.sync()
        self.window.deleteLater()
        self.theme.deleteLater()

    # --- doing --------------------------------------------------------------------------------

    def load(self) -> None:
        """Load the simulated model and wait until it is ready."""
        self.window.models.simulate()
        self.until(lambda: self.window.models.model is not None and not self.window.models.is_loading)

    def say(self, text: str) -> None:
        """Write into the composer and press Enter."""
        composer = self.window.chat.view.composer
        composer.setPlainText(text)
        self.qtbot.keyClick(composer, Qt.Key.Key_Return)

    def press(self, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        """A key of the window; shortcuts need the window to be active, as a window manager would make it."""
        self.window.activateWindow()
        self.until(self.window.isActiveWindow)
        self.qtbot.keyClick(self.window, key, modifiers)

    def until(self, is_wanted: Callable[[], bool]) -> None:
        self.qtbot.waitUntil(is_wanted, timeout=PATIENCE_MS)

    def until_idle(self) -> None:
        """Every answer has ended."""
        self.until(lambda: not self.window.chat.answering.is_busy)

    # --- seeing -------------------------------------------------------------------------------

    @property
    def transcript(self) -> str:
        return self.window.chat.view.transcript.toPlainText()

    @property
    def activity(self) -> str:
        return self.window.chat.view.activity.text

    def statuses(self) -> list[tuple[str, str, str]]:
        """Role, text and status of every stored message of the newest conversation."""
        conversations = self.store.conversations()
        messages = self.store.messages(conversations[0].id) if conversations else []
        return [(each.role, each.text, each.status) for each in messages]

    def dialogs(self) -> list[QMessageBox]:
        """Message boxes on the screen."""
        return [box for box in self.window.findChildren(QMessageBox) if box.isVisible()]
