"""The window: places the three features and wires them; none of them knows the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QSettings, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QCloseEvent, QDragEnterEvent, QDropEvent, QKeySequence
from PySide6.QtWidgets import (
    QDockWidget,
    QMainWindow,
    QMessageBox,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.chat.chat import Chat
from app.elided_label import ElidedLabel
from app.engine_bridge import EngineBridge
from app.fault_dialog import Fault, show_fault
from app.history.store import HistoryStore
from app.inspector.inspector_dock import InspectorDock
from app.models.load_words import model_details
from app.models.models import Models, load_title
from app.notice_bar import NoticeBar
from app.telemetry_store import TelemetryStore
from app.theme import Theme
from app.version import program_version
from app.window_actions import ActionSpec, WindowActions
from app.window_memory import WindowMemory
from engine.config import LoadSettings
from engine.errors import ErrorInfo
from engine.events import Event, ModelInfo

_Key = QKeySequence.StandardKey
_FIRST_SIZE = (1280, 800)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the window is given: where to keep things and what can be loaded without asking."""

    data_dir: Path
    settings: QSettings
    simulated: LoadSettings
    demo: Path | None = None
    is_all_simulated: bool = False


class MainWindow(QMainWindow):
    """`finished` is emitted once everything is saved; the program then closes the engine."""

    finished = Signal()

    def __init__(
        self, bridge: EngineBridge, store: HistoryStore, theme: Theme, surroundings: Surroundings
    ) -> None:
        super().__init__()
        self._bridge = bridge
        self._theme = theme
        self._surroundings = surroundings
        self._memory = WindowMemory(surroundings.settings)
        self._is_finished = False
        self.telemetry = TelemetryStore()
        self.chat = Chat(store, bridge, surroundings.settings)
        self.models = Models(bridge, surroundings.settings, surroundings.simulated, surroundings.demo)
        self.inspector = InspectorDock(self.telemetry)
        self.notice = NoticeBar()
        self._state_line = ElidedLabel()
        self._pages = QStackedWidget()
        self.setAcceptDrops(True)
        self._build_layout()
        self._build_menus()
        self._connect()
        if not self._memory.restore_window(self):
            self._use_first_layout()
        self._show_state()
        if store.opening_note:
            self.notice.show_notice(store.opening_note)

    # --- building -----------------------------------------------------------------------------

    def _build_layout(self) -> None:
        for page in (self.models.start_page, self.chat.view):
            self._pages.addWidget(page)
        centre = QWidget()
        layout = QVBoxLayout(centre)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for widget in (self.notice, self.models.panel):
            layout.addWidget(widget)
        layout.addWidget(self._pages, 1)
        self.setCentralWidget(centre)
        self._conversations = QDockWidget("Conversations")
        self._conversations.setObjectName("conversations_dock")
        self._conversations.setWidget(self.chat.conversations)
        self.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, self._conversations)
        self.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, self.inspector)
        self._state_line.setAccessibleName("State of the engine")
        self._state_line.setTextFormat(Qt.TextFormat.PlainText)
        self.statusBar().addWidget(self._state_line, 1)

    def _use_first_layout(self) -> None:
        width, height = _FIRST_SIZE
        screen = self.screen().availableGeometry()
        self.resize(min(width, screen.width()), min(height, screen.height()))
        docks = [self._conversations, self.inspector]
        self.resizeDocks(docks, [width * 18 // 100, width * 36 // 100], Qt.Orientation.Horizontal)

    def _build_menus(self) -> None:
        menus = self._menus = WindowActions(self)
        chat, models = self.chat, self.models
        menus.add_menu("&File", [
            ActionSpec("&Open a model…", lambda: models.choose_file(self), _Key.Open),
            ActionSpec("Load with other &settings…", lambda: models.ask_settings_again(self)),
            ActionSpec("&Unload the model", models.unload, "Ctrl+E"),
            ActionSpec("&Simulated run", models.simulate),
            None,
            ActionSpec("&Quit", self.close, "Ctrl+Q", QAction.MenuRole.QuitRole),
        ])  # fmt: skip
        menus.add_menu("&Chat", [
            ActionSpec("&New conversation", chat.begin_new, _Key.New),
            ActionSpec("S&earch conversations", self._search, "Ctrl+Shift+F"),
            None,
            ActionSpec("&Stop", self.stop, "Esc"),
            ActionSpec("Answer &again", chat.view.answer_again, "Ctrl+R"),
            ActionSpec("&Copy the last answer", chat.view.copy_last_answer, "Ctrl+Shift+C"),
            ActionSpec("Write a &message", chat.view.composer.setFocus, "Ctrl+L"),
            ActionSpec("&Jump to the latest text", chat.view.transcript.jump_to_end, "Ctrl+End"),
        ])  # fmt: skip
        docks = [self._conversations.toggleViewAction(), self.inspector.toggleViewAction()]
        menus.add_view_menu(self._theme, docks, lambda: self._memory.keep_look(self._theme))
        menus.add_menu("&Help", [
            ActionSpec("&Keyboard shortcuts", lambda: menus.show_shortcuts(self), "F1"),
            ActionSpec("&About the loaded model", self._show_model),
            ActionSpec("About &Emberglass", self._show_about, None, QAction.MenuRole.AboutRole),
        ])  # fmt: skip

    def _connect(self) -> None:
        self._bridge.events_ready.connect(self._take)
        self.models.changed.connect(self._show_state)
        self.models.loading.connect(self._show_chat)
        self.models.loaded.connect(self._model_loaded)
        self.models.failed.connect(lambda error: show_fault(error, load_title(error), self))
        self.models.stopped.connect(lambda: self.notice.show_notice("Loading was stopped."))
        self.chat.opened.connect(self._show_chat)
        self.chat.deleted.connect(self._conversation_deleted)
        self.chat.fault.connect(lambda fault: self._report(fault, "Conversations"))

    # --- what happens -------------------------------------------------------------------------

    def _take(self, events: list[Event]) -> None:
        for apply in self._consumers():
            apply(events)

    def _consumers(self) -> tuple[Callable[[list[Event]], None], ...]:
        return self.telemetry.apply, self.models.apply, self.chat.apply

    def _model_loaded(self, info: ModelInfo) -> None:
        self._show_chat()
        if info.notes:
            self.notice.show_notice(" ".join(info.notes), "Details", self._show_model)
        if not self.chat.view.composer.toPlainText():
            self.chat.view.composer.setFocus()

    def _conversation_deleted(self, conversation_id: int, title: str) -> None:
        words = f"“{title or 'Untitled'}” was deleted."
        self.notice.show_notice(words, "Undo", lambda: self.chat.restore(conversation_id))

    def _show_chat(self) -> None:
        self._pages.setCurrentWidget(self.chat.view)

    def _show_state(self) -> None:
        models = self.models
        self._state_line.setText(models.line)
        is_simulated = self._surroundings.is_all_simulated or _is_simulated(models.model)
        parts = [models.model.name] if models.model else []
        name = "Emberglass (simulated)" if is_simulated else "Emberglass"
        self.setWindowTitle(" – ".join([*parts, name]))
        actions = self._menus.actions
        actions["Unload the model"].setEnabled(models.model is not None)
        actions["Load with other settings"].setEnabled(models.can_reload)
        actions["About the loaded model"].setEnabled(models.model is not None)
        if models.model is None and not models.is_loading and self.chat.view.conversation_id is None:
            self._pages.setCurrentWidget(models.start_page)

    def stop(self) -> None:
        """Esc: end what runs here, the load first."""
        if self.models.is_loading:
            self.models.cancel_load()
        else:
            self.chat.view.stop()

    def _search(self) -> None:
        self._conversations.show()
        self.chat.conversations.focus_search()

    def _report(self, fault: Fault, title: str) -> None:
        """One dialog at a time: a full disk fails every half second."""
        if self.findChild(QMessageBox) is None:
            show_fault(fault, title, self)

    def report_error(self, error: ErrorInfo, title: str) -> None:
        """A fault that no request caused."""
        self._report(error, title)

    def _show_model(self) -> None:
        if self.models.model is not None:
            self._show_text("The loaded model", model_details(self.models.model))

    def _show_about(self) -> None:
        self._show_text(
            "About Emberglass",
            f"Emberglass {program_version()}\n\nChats with mixture-of-experts models larger than memory, and "
            "shows where every expert lives.\n\nMIT licence. Built on llama.cpp (MIT), Qt and "
            "PySide6 (LGPL 3), pyqtgraph (MIT), NumPy (BSD).\n\n"
            f"Conversations, settings and logs: {self._surroundings.data_dir}",
        )

    def _show_text(self, title: str, text: str) -> None:
        box = QMessageBox(self)
        box.setWindowTitle(title)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(text)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.open()

    # --- dropping and closing -----------------------------------------------------------------

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if _dropped_model(event) is not None:
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        path = _dropped_model(event)
        if path is not None:
            event.acceptProposedAction()
            # after the drop has ended: the source program waits for that
            QTimer.singleShot(0, lambda: self.models.ask_settings(path, self))

    def closeEvent(self, event: QCloseEvent) -> None:
        """Quit means quit: stop, save as interrupted, go."""
        if not self._is_finished:
            self._is_finished = True
            self._memory.keep_window(self)
            self.chat.finish()
            self.finished.emit()
        event.accept()


def _is_simulated(model: ModelInfo | None) -> bool:
    return model is not None and model.architecture == "simulated"


def _dropped_model(event: QDropEvent) -> Path | None:
    paths = [url.toLocalFile() for url in event.mimeData().urls()]
    return next((Path(path) for path in paths if path.lower().endswith(".gguf")), None)
