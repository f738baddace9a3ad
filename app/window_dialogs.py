"""The dialogs the window opens by itself: palette, shortcuts, settings, words about something."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QDialog, QMainWindow, QMessageBox

from app.chat.chat import Chat
from app.command_palette import Command, CommandPalette
from app.history.errors import HistoryError
from app.history.records import ChatSettings, Conversation
from app.history.store import HistoryStore
from app.history_files import HistoryFiles
from app.menu_entries import MenuEntry, menu_entries
from app.models.models import Models
from app.settings.appearance_page import AppearancePage
from app.settings.chat_page import ChatPage
from app.settings.choices import ChatChoices
from app.settings.conversation_settings import ConversationSettings
from app.settings.data_page import DataPage
from app.settings.device_choices import DeviceChoices
from app.settings.devices_page import DevicesPage
from app.settings.pending_settings import PendingSettings
from app.settings.setting_levels import changed_names, program_settings
from app.settings.settings_dialog import SettingsDialog
from app.shortcut_sheet import ShortcutGroup, ShortcutSheet
from app.theme import Theme
from app.version import program_version

_PALETTE = "Command palette"
_NEW = 0
_TEXT_KEYS = (
    ("New line in the message", "Shift+Enter"),
    ("Next match, in the find bar", "Enter"),
    ("Previous match, in the find bar", "Shift+Enter"),
    ("Menu of the conversation, in the list", "Shift+F10"),
    ("Next and previous control", "Tab, Shift+Tab"),
)


class WindowDialogs(QObject):
    """`settings_changed` says that settings or presets may differ, `fault` carries a HistoryError."""

    settings_changed = Signal()
    fault = Signal(object)

    def __init__(
        self,
        window: QMainWindow,
        store: HistoryStore,
        chat: Chat,
        models: Models,
        choices: ChatChoices,
        devices: DeviceChoices,
    ) -> None:
        super().__init__(window)
        self._window, self._store, self._chat, self._models = window, store, chat, models
        self._choices, self._devices = choices, devices
        self.pending = PendingSettings(store, choices)

    # --- palette and shortcuts ----------------------------------------------------------------

    def show_palette(self) -> None:
        """Every menu entry that can be used now, the conversations, and recent models."""
        entries = [each for each in menu_entries(self._window.menuBar()) if each.action.isEnabled()]
        commands = [_entry_command(entry) for entry in entries if entry.text != _PALETTE]
        commands += [self._conversation_command(each) for each in self._conversations()]
        commands += [self._model_command(each) for each in self._models.recent.all()]
        self._open(CommandPalette(commands, self._window))

    def _conversations(self) -> list[Conversation]:
        try:
            return self._store.conversations()
        except HistoryError as error:
            self.fault.emit(error)
            return []

    def _conversation_command(self, each: Conversation) -> Command:
        place = f"Conversation in {each.folder}" if each.folder else "Conversation"
        return Command(each.title or "Untitled", place, "", lambda: self._chat.open(each.id))

    def _model_command(self, path: Path) -> Command:
        return Command(path.name, "Model", "", lambda: self._models.load(self._models.asked_for(path)))

    def show_shortcuts(self) -> None:
        """A sheet of all shortcuts, by menu."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for entry in menu_entries(self._window.menuBar()):
            if entry.keys:
                groups.setdefault(entry.place.split(" › ")[0], []).append((entry.text, entry.keys))
        sends = "Ctrl+Enter" if self._choices.sends_with_ctrl_enter else "Enter"
        typing: ShortcutGroup = ("While typing and choosing", [("Send the message", sends), *_TEXT_KEYS])
        self._open(ShortcutSheet([typing, *groups.items()], self._window))

    # --- settings -----------------------------------------------------------------------------

    def show_settings(
        self, theme: Theme, keep_look: Callable[[], None], files: HistoryFiles, data_dir: Path
    ) -> None:
        """The settings of the program."""
        dialog = SettingsDialog(
            ChatPage(self._store, self._choices, self._lowest()),
            lambda: AppearancePage(theme, keep_look),
            lambda: DevicesPage(self._devices),
            lambda: _data_page(files, data_dir),
            self._window,
        )
        dialog.fault.connect(self.fault)
        dialog.finished.connect(lambda _code: self.settings_changed.emit())
        self._open(dialog)

    def show_conversation_settings(self, conversation: Conversation | None) -> None:
        """The settings of one conversation; None is the one that isn't begun yet."""
        number, title, store = _NEW, "New conversation", None
        if conversation is not None:
            number, title, store = conversation.id, conversation.title or "Untitled", self._store
        dialog = ConversationSettings(store or self.pending, number, title, self._lowest(), self._window)
        dialog.fault.connect(self.fault)
        dialog.finished.connect(lambda _code: self.settings_changed.emit())
        self._open(dialog)

    def settings_words(self, conversation: Conversation | None) -> str:
        """The preset, and how much is changed of it; empty for nothing unusual."""
        store = self.pending if conversation is None else self._store
        number = _NEW if conversation is None else conversation.id
        try:
            preset, own = store.preset_of(number), store.settings_of(number)
        except HistoryError as error:
            self.fault.emit(error)
            return ""
        count = len(changed_names(own))
        parts = [] if preset is None else [preset.name]
        return " · ".join([*parts, f"● {count} changed"] if count else parts)

    def begin(self, conversation_id: int) -> None:
        """A conversation was stored for its first message: it takes over what was set before."""
        try:
            self.pending.apply_to(conversation_id)
        except HistoryError as error:
            self.fault.emit(error)

    def _lowest(self) -> ChatSettings:
        return program_settings(self._chat.answering.sampling)

    # --- words --------------------------------------------------------------------------------

    def show_text(self, title: str, text: str) -> None:
        """Something to read."""
        box = QMessageBox(self._window)
        box.setWindowTitle(title)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(text)
        self._open(box)

    def show_about(self, data_dir: Path) -> None:
        """What this program is, and where it keeps things."""
        self.show_text(
            "About Emberglass",
            f"Emberglass {program_version()}\n\nChats with mixture-of-experts models larger than memory, and "
            "shows where every expert lives.\n\nMIT licence. Built on llama.cpp (MIT), Qt and "
            "PySide6 (LGPL 3), pyqtgraph (MIT), NumPy (BSD).\n\n"
            f"Conversations, settings and logs: {data_dir}",
        )

    @staticmethod
    def _open(dialog: QDialog) -> None:
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()


def _data_page(files: HistoryFiles, data_dir: Path) -> DataPage:
    page = DataPage((("Conversations and settings", data_dir), ("Logs", data_dir / "logs")))
    page.back_up_wanted.connect(files.ask_back_up)
    page.export_wanted.connect(files.ask_export_all)
    page.import_wanted.connect(files.ask_import)
    return page


def _entry_command(entry: MenuEntry) -> Command:
    return Command(entry.text, entry.place, entry.keys, entry.action.trigger)
