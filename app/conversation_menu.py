"""What can be done with the conversation on the screen: one menu, in the menu bar and at the list."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPoint
from PySide6.QtGui import QAction

from app.chat.chat import Chat
from app.history.errors import HistoryError
from app.history.records import Conversation
from app.history.store import HistoryStore
from app.history_files import EXPORT_KINDS, ExportKind, HistoryFiles
from app.name_dialog import NameDialog
from app.window_actions import ActionSpec, WindowActions

_PIN = "Pin on top"
_NEEDS_ONE = ("Rename", "Duplicate", _PIN, "Settings of this conversation", "Delete")


class ConversationMenu:
    """The list opens what it stands on, so both menus act on the conversation that is shown. GUI thread."""

    def __init__(
        self,
        menus: WindowActions,
        store: HistoryStore,
        chat: Chat,
        files: HistoryFiles,
        show_settings: Callable[[Conversation], None],
    ) -> None:
        self._menus, self._store, self._chat, self._files = menus, store, chat, files
        self._show_settings = show_settings
        self._menu = menus.add_menu("C&onversation", self._first_entries())
        self._folders = self._menu.addMenu("&Move to folder")
        self._exports = self._menu.addMenu("&Export")
        menus.fill_menu(self._exports, [self._export_entry(kind) for kind in EXPORT_KINDS])
        menus.fill_menu(self._menu, self._last_entries())
        menus.actions[_PIN].setCheckable(True)
        # shortcuts work only while their entries are enabled
        for signal in (self._menu.aboutToShow, chat.opened, chat.view.changed, chat.deleted):
            signal.connect(self.show_state)
        self._chat.conversations.menu_wanted.connect(self.popup)
        self.show_state()

    def _first_entries(self) -> list[ActionSpec | None]:
        return [
            ActionSpec("&Rename", lambda: self._do(self._rename), "F2"),
            ActionSpec("D&uplicate", lambda: self._do(lambda shown: self._chat.duplicate(shown.id))),
            ActionSpec("&Pin on top", lambda: self._do(self._toggle_pin)),
        ]

    def _last_entries(self) -> list[ActionSpec | None]:
        rows = self._chat.conversations.tree
        return [
            ActionSpec(
                "&Settings of this conversation…", lambda: self._do(self._show_settings), "Ctrl+Shift+,"
            ),
            None,
            # only in the list: in a text field the same keys delete a word
            ActionSpec(
                "&Delete", lambda: self._do(lambda shown: self._chat.delete(shown.id)), "Ctrl+Backspace",
                owner=rows,
            ),
        ]  # fmt: skip

    def _export_entry(self, kind: ExportKind) -> ActionSpec:
        def ask(shown: Conversation) -> None:
            self._files.ask_export_one(shown.id, shown.title, kind)

        return ActionSpec(f"As {kind.words}…", lambda: self._do(ask))

    # --- state --------------------------------------------------------------------------------

    def popup(self, place: QPoint) -> None:
        """The same menu beside a row of the list."""
        self._menu.popup(place)

    def current(self) -> Conversation | None:
        """What the entries act on."""
        shown = self._chat.view.conversation_id
        return next((each for each in self._conversations() if each.id == shown), None)

    def _conversations(self) -> list[Conversation]:
        try:
            return self._store.conversations()
        except HistoryError as error:
            self._chat.fault.emit(error)
            return []

    def show_state(self) -> None:
        """Enable what can be done, before the menu opens or the palette lists it."""
        conversation = self.current()
        for name in _NEEDS_ONE:
            self._menus.actions[name].setEnabled(conversation is not None)
        for kind in EXPORT_KINDS:
            self._menus.actions[f"As {kind.words}"].setEnabled(conversation is not None)
        self._menus.actions[_PIN].setChecked(conversation is not None and conversation.is_pinned)
        self._fill_folders(conversation)

    def _fill_folders(self, conversation: Conversation | None) -> None:
        """Every folder, the current one checked, and a new one."""
        for action in self._folders.actions():
            self._folders.removeAction(action)
            action.deleteLater()
        if conversation is None:
            self._folders.setEnabled(False)
            return
        self._folders.setEnabled(True)
        self._folder_entry("No folder", "", conversation)
        self._folders.addSeparator()
        for name in sorted({each.folder for each in self._conversations() if each.folder}, key=str.casefold):
            self._folder_entry(name, name, conversation)
        new = QAction("New folder…", self._folders)
        new.triggered.connect(lambda: self._ask_folder(conversation))
        self._folders.addAction(new)

    def _folder_entry(self, text: str, folder: str, conversation: Conversation) -> None:
        action = QAction(text.replace("&", "&&"), self._folders)
        action.setCheckable(True)
        action.setChecked(conversation.folder == folder)
        action.triggered.connect(lambda: self._chat.set_folder(conversation.id, folder))
        self._folders.addAction(action)

    def _do(self, call: Callable[[Conversation], object]) -> None:
        conversation = self.current()
        if conversation is not None:
            call(conversation)

    # --- entries ------------------------------------------------------------------------------

    def _rename(self, conversation: Conversation) -> None:
        if not self._chat.conversations.rename(conversation.id):
            self._ask_name(
                "Rename the conversation",
                "Title of the conversation",
                conversation.title,
                lambda title: self._chat.rename(conversation.id, title),
            )

    def _toggle_pin(self, conversation: Conversation) -> None:
        self._chat.set_pinned(conversation.id, not conversation.is_pinned)

    def _ask_folder(self, conversation: Conversation) -> None:
        self._ask_name(
            "New folder",
            "Name of the folder",
            "",
            lambda name: self._chat.set_folder(conversation.id, name),
        )

    def _ask_name(self, title: str, question: str, name: str, then: Callable[[str], None]) -> None:
        dialog = NameDialog(title, question, name, self._menus.window)
        dialog.accepted.connect(lambda: then(dialog.name))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
