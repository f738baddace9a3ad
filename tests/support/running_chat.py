"""The chat feature alone over a real engine with a simulated model, driven as a user would."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PySide6.QtCore import QSettings, Qt
from pytestqt.qtbot import QtBot

from app.chat.chat import Chat
from app.chat.conversation_view import ConversationView
from app.chosen_backend import SIMULATED_PATH
from app.engine_bridge import EngineBridge
from app.history.records import Message
from app.history.store import HistoryStore
from engine.backends.base import InferenceBackend
from engine.config import LoadSettings
from engine.service import Engine
from tests.support.running_window import PATIENCE_MS, quick_backend


class RunningChat:
    """A shown conversation view with its store and its engine; answers come within milliseconds."""

    def __init__(self, qtbot: QtBot, folder: Path, factory: Callable[[], InferenceBackend]) -> None:
        self.qtbot = qtbot
        self.settings = QSettings(str(folder / "window.ini"), QSettings.Format.IniFormat)
        self.store = HistoryStore(folder / "conversations.sqlite3")
        self.bridge = EngineBridge(Engine(factory))
        self.chat = Chat(self.store, self.bridge, self.settings)
        self.bridge.events_ready.connect(self.chat.apply)
        self.faults: list[object] = []
        self.chat.fault.connect(self.faults.append)
        self.view.resize(900, 700)
        self.view.show()
        qtbot.waitExposed(self.view)

    @property
    def view(self) -> ConversationView:
        return self.chat.view

    def close(self) -> None:
        """Quit as the program does."""
        self.chat.finish()
        assert self.bridge.close(5.0)
        self.store.close()
        self.view.close()
        self.view.deleteLater()
        self.chat.conversations.deleteLater()

    # --- doing --------------------------------------------------------------------------------

    def load(self, context_tokens: int = 8192) -> None:
        """Load the simulated model and wait until it is ready."""
        self.bridge.load(LoadSettings(SIMULATED_PATH, context_tokens=context_tokens))
        self.until(lambda: self.chat.answering.has_model)

    def unload(self) -> None:
        self.bridge.unload()
        self.until(lambda: not self.chat.answering.has_model)

    def write(self, text: str) -> None:
        """Write into the composer."""
        self.view.composer.setPlainText(text)

    def say(self, text: str) -> None:
        """Write into the composer and press Enter."""
        self.write(text)
        self.qtbot.keyClick(self.view.composer, Qt.Key.Key_Return)

    def ask(self, text: str) -> None:
        """Say something and wait for the end of the answer."""
        self.say(text)
        self.until_idle()

    def until(self, is_wanted: Callable[[], bool]) -> None:
        self.qtbot.waitUntil(is_wanted, timeout=PATIENCE_MS)

    def until_idle(self) -> None:
        """Every answer has ended."""
        self.until(lambda: not self.chat.answering.is_busy)

    # --- seeing -------------------------------------------------------------------------------

    @property
    def transcript(self) -> str:
        return self.view.transcript.toPlainText()

    @property
    def messages(self) -> list[Message]:
        """The stored active branch of the shown conversation."""
        conversation_id = self.view.conversation_id
        return [] if conversation_id is None else self.store.messages(conversation_id)

    @property
    def texts(self) -> list[str]:
        return [each.text for each in self.messages]

    @property
    def meter(self) -> str:
        return self.view.panel.meter.text

    @property
    def notice(self) -> str:
        """The news above the composer, empty without."""
        notice = self.view.panel.notice
        return notice.text if notice.isVisible() else ""


OpenChat = Callable[..., RunningChat]


@contextmanager
def running_chats(qtbot: QtBot, folder: Path) -> Iterator[OpenChat]:
    """Opens chats of one data folder, one after the other; closes the last one, engine and store included."""
    opened: list[RunningChat] = []

    def close_last() -> None:
        if opened:
            opened.pop().close()

    def open_one(factory: Callable[[], InferenceBackend] = quick_backend) -> RunningChat:
        close_last()
        opened.append(RunningChat(qtbot, folder, factory))
        return opened[-1]

    try:
        yield open_one
    finally:
        close_last()
