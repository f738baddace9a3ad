"""The window: places the three features and wires them; none of them knows the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QSettings, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QDialog, QMainWindow, QMessageBox

from app.budget_requests import BudgetRequests
from app.chat.chat import Chat
from app.chat.find_bar import FindBar
from app.composition_guard import CompositionGuard
from app.conversation_header import ConversationHeader
from app.conversation_menu import ConversationMenu
from app.dropped_file import dropped_file, is_recording
from app.engine_bridge import EngineBridge
from app.fault_dialog import Fault, show_fault
from app.gpu_watch import GpuWatch
from app.history.store import HistoryStore
from app.history_files import HistoryFiles
from app.inspector.inspector_dock import InspectorDock
from app.models.load_words import load_news, model_details
from app.models.models import Models, load_title
from app.notice_bar import NoticeBar
from app.panel_round import focus_next_panel
from app.recording_files import RecordingFiles
from app.settings.choices import ChatChoices
from app.settings.device_choices import DeviceChoices
from app.telemetry_store import TelemetryStore
from app.theme import Theme
from app.warm_up_requests import WarmUpRequests
from app.window_actions import WindowActions
from app.window_dialogs import WindowDialogs
from app.window_layout import WindowLayout
from app.window_memory import WindowMemory
from app.window_menus import (
    WindowCalls,
    chat_entries,
    file_entries,
    help_entries,
    inspector_entries,
    view_entries,
)
from engine.config import LoadSettings
from engine.errors import ErrorInfo
from engine.events import Event
from engine.model_facts import ModelInfo
from engine.telemetry.gpu_sampler import GpuSampler


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the window is given: where to keep things and what can be loaded without asking."""

    data_dir: Path
    settings: QSettings
    simulated: LoadSettings
    demo: LoadSettings | None = None
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
        self._store = store
        self.telemetry = TelemetryStore()
        self.chat = Chat(store, bridge, surroundings.settings)
        self.devices = DeviceChoices(surroundings.settings)
        self.models = Models(
            bridge,
            surroundings.settings,
            surroundings.simulated,
            surroundings.demo,
            surroundings.data_dir / "profiles",
            lambda: self.devices.addresses,
        )
        self.inspector = InspectorDock(self.telemetry)
        self.notice = NoticeBar()
        self.header, self.find_bar = ConversationHeader(), FindBar(self.chat.view.transcript)
        self.choices = ChatChoices(surroundings.settings)
        self.files = HistoryFiles(store, self)
        self.recordings = RecordingFiles(self.telemetry, self.inspector, self)
        self.warm_ups = WarmUpRequests(bridge, self)
        self.budgets = BudgetRequests(
            self.inspector.budget, self.models, self.chat.answering, self.warm_ups, self
        )
        self.gpus = GpuWatch(self.inspector, GpuSampler(), self)
        self.dialogs = WindowDialogs(self, store, self.chat, self.models, self.choices, self.devices)
        self._layout = WindowLayout(self)
        self.setAcceptDrops(True)
        CompositionGuard(self.chat.view.composer)
        self._build_layout()
        self._build_menus()
        self._connect()
        if not self._memory.restore_window(self):
            self._layout.use_first_sizes()
        self._show_state()
        if store.opening_note:
            self.notice.show_notice(store.opening_note)

    # --- building -----------------------------------------------------------------------------

    def _build_layout(self) -> None:
        self._layout.build(
            (self.notice, self.models.panel),
            self.models.start_page,
            (self.header, self.find_bar, self.chat.view),
            self.chat.conversations,
            self.inspector,
        )

    def _build_menus(self) -> None:
        menus, calls = WindowActions(self), self._calls()
        self.menuBar().setAccessibleName("Menus")
        self._menus = menus
        menus.add_menu("&File", file_entries(calls, self.models, self.files))
        menus.add_menu("&Chat", chat_entries(calls, self.chat, self.find_bar))
        self.conversation_menu = ConversationMenu(
            menus, self._store, self.chat, self.files, self.dialogs.show_conversation_settings
        )
        docks = [dock.toggleViewAction() for dock in self._layout.docks]
        menus.fill_menu(menus.add_view_menu(self._theme, docks, self._keep_look), view_entries(calls))
        menus.add_menu("&Inspector", inspector_entries(self.recordings))
        menus.add_menu("&Help", help_entries(calls))
        self.recordings.show_state(menus.actions)
        self.recordings.changed.connect(lambda: self.recordings.show_state(menus.actions))

    def _calls(self) -> WindowCalls:
        return WindowCalls(
            close=self.close,
            choose_file=lambda: self.models.choose_file(self),
            ask_settings_again=lambda: self.models.ask_settings_again(self),
            show_settings=self._show_settings,
            search=self._search,
            find=self._find,
            stop=self.stop,
            next_panel=self._next_panel,
            show_palette=self._show_palette,
            show_shortcuts=self.dialogs.show_shortcuts,
            show_model=self._show_model,
            show_about=self._show_about,
        )

    def _connect(self) -> None:
        self._bridge.events_ready.connect(self._take)
        self.models.changed.connect(self._show_state)
        self.models.changed.connect(lambda: self.gpus.take_model(self.models.model))
        self.devices.changed.connect(self.budgets.show_asked)
        self.models.loading.connect(self._show_chat)
        self.models.loaded.connect(self._model_loaded)
        self.models.failed.connect(lambda error: show_fault(error, load_title(error), self))
        self.models.refused.connect(lambda error: show_fault(error, "The settings can’t be applied", self))
        self.models.stopped.connect(lambda: self.notice.show_notice("Loading was stopped."))
        self.chat.opened.connect(self._show_chat)
        self.chat.view.changed.connect(self._show_header)
        self.chat.answering.painted.connect(self.telemetry.note_first_paint)
        self.chat.view.sending.begun.connect(self.dialogs.begin)
        self.chat.view.pending_levels = self.dialogs.pending.levels
        self.chat.deleted.connect(self._conversation_deleted)
        self.chat.conversations.pin_wanted.connect(self.chat.set_pinned)
        self.chat.conversations.folder_wanted.connect(self.chat.set_folder)
        self.chat.conversations.chosen.connect(self._show_hit)
        self.chat.conversations.opened_by_key.connect(lambda _id: self.chat.view.composer.setFocus())
        self.header.settings_wanted.connect(self._show_conversation_settings)
        self.find_bar.closed.connect(self.chat.view.transcript.setFocus)
        self.choices.changed.connect(self._settings_changed)
        self.dialogs.settings_changed.connect(self._settings_changed)
        self.files.imported.connect(lambda _ids: self.chat.show_list())
        for each in (self.files, self.recordings, self.warm_ups):
            each.done.connect(self.notice.show_notice)
        self.inspector.warm_up_wanted.connect(self.warm_ups.start)
        self.inspector.warm_up_stop_wanted.connect(self.warm_ups.stop)
        self.warm_ups.fault.connect(lambda error: self._report(error, "Warm-up"))
        self.recordings.fault.connect(lambda fault: self._report(fault, "Recordings"))
        for part in (self.chat, self.files, self.dialogs):
            part.fault.connect(lambda fault: self._report(fault, "Conversations"))

    # --- what happens -------------------------------------------------------------------------

    def _take(self, events: list[Event]) -> None:
        for apply in self._consumers():
            apply(events)

    def _consumers(self) -> tuple[Callable[[list[Event]], None], ...]:
        # recordings last: they also keep when the chat showed an answer's first text
        parts = self.telemetry, self.models, self.chat, self.warm_ups, self.recordings
        return tuple(part.apply for part in parts)

    def _model_loaded(self, info: ModelInfo) -> None:
        self._show_chat()
        news = load_news(info, self.models.last)
        if news:
            self.notice.show_notice(news, "Details", self._show_model)
        is_at_work = self.inspector.isAncestorOf(self.focusWidget())
        if not self.chat.view.composer.toPlainText() and not is_at_work:
            self.chat.view.composer.setFocus()

    def _conversation_deleted(self, conversation_id: int, title: str) -> None:
        words = f"“{title or 'Untitled'}” was deleted."
        self.notice.show_notice(words, "&Undo", lambda: self.chat.restore(conversation_id))

    def _show_chat(self) -> None:
        self._layout.show_chat()
        self.chat.conversations.tree.show_current(self.chat.view.conversation_id)
        self._show_header()

    def _show_header(self) -> None:
        conversation = self.conversation_menu.current()
        title = "New conversation" if conversation is None else conversation.title or "Untitled"
        self.header.show_conversation(title, self.dialogs.settings_words(conversation))

    def _show_state(self) -> None:
        models = self.models
        self._layout.state_line.setText(models.line)
        is_simulated = self._surroundings.is_all_simulated or _is_simulated(models.model)
        parts = [models.model.name] if models.model else []
        name = "Emberglass (simulated)" if is_simulated else "Emberglass"
        self.setWindowTitle(" – ".join([*parts, name]))
        actions = self._menus.actions
        actions["Unload the model"].setEnabled(models.model is not None)
        actions["Load with other settings"].setEnabled(models.can_reload)
        actions["About the loaded model"].setEnabled(models.model is not None)
        if models.model is None and not models.is_loading and self.chat.view.conversation_id is None:
            self._layout.show_start()

    def stop(self) -> None:
        """Esc: end what runs here, the load first."""
        if self.models.is_loading:
            self.models.cancel_load()
        elif self.warm_ups.is_running and not self.chat.answering.is_busy:
            self.warm_ups.stop()
        else:
            self.chat.view.stop()

    def _search(self) -> None:
        self._layout.conversations.show()
        self.chat.conversations.focus_search()

    def _find(self) -> None:
        """Look for what is selected, or what was looked for last."""
        self._show_chat()
        selected = self.chat.view.transcript.textCursor().selectedText()
        self.find_bar.open_bar("" if "\u2029" in selected else selected)

    def _show_hit(self) -> None:
        """A conversation that was searched for opens at the word, ready for the next one."""
        words = self.chat.conversations.search_text.split()
        if words:
            self.find_bar.look_for(words[0])

    def _next_panel(self) -> None:
        view = self.chat.view
        panels = self.chat.conversations.tree, view.composer, view.transcript, self.inspector
        focus_next_panel(panels, self.focusWidget())

    # --- settings and palette -----------------------------------------------------------------

    def _keep_look(self) -> None:
        self._memory.keep_look(self._theme)

    def _show_settings(self) -> None:
        self.dialogs.show_settings(self._theme, self._keep_look, self.files, self._surroundings.data_dir)

    def _show_conversation_settings(self) -> None:
        self.dialogs.show_conversation_settings(self.conversation_menu.current())

    def _settings_changed(self) -> None:
        self.chat.settings_changed()
        self._show_header()

    def _show_palette(self) -> None:
        self.conversation_menu.show_state()
        self.dialogs.show_palette()

    def come_forward(self, model: Path | None) -> None:
        """The program was started again: show this window, and open what that start was given."""
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()
        if model is not None:
            self.models.ask_settings(model, self)

    def _report(self, fault: Fault, title: str) -> None:
        """One dialog at a time: a full disk fails every half second."""
        if not any(box.isVisible() for box in self.findChildren(QMessageBox)):
            show_fault(fault, title, self)

    def report_error(self, error: ErrorInfo, title: str) -> None:
        """A fault that no request caused."""
        self._report(error, title)

    def _show_model(self) -> None:
        if self.models.model is not None:
            self.dialogs.show_text("The loaded model", model_details(self.models.model))

    def _show_about(self) -> None:
        self.dialogs.show_about(self._surroundings.data_dir)

    # --- dropping and closing -----------------------------------------------------------------

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if dropped_file(event) is not None:
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        path = dropped_file(event)
        if path is not None:
            event.acceptProposedAction()
            # after the drop has ended: the source program waits for that
            QTimer.singleShot(0, lambda: self._open_dropped(path))

    def _open_dropped(self, path: Path) -> None:
        if is_recording(path):
            self.recordings.open_recording(path)
        else:
            self.models.ask_settings(path, self)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Quit means quit: stop, save as interrupted, go."""
        if not self._is_finished:
            self._is_finished = True
            # what was changed in them is saved as they close
            for dialog in self.findChildren(QDialog):
                dialog.close()
            self._memory.keep_window(self)
            self.recordings.stop()
            self.chat.finish()
            for each in (self.budgets, self.gpus):
                each.close()
            self.finished.emit()
        event.accept()


def _is_simulated(model: ModelInfo | None) -> bool:
    return model is not None and model.architecture == "simulated"
