"""The list of conversations with its search; what can be done with one stands in the window's menu."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from app.chat.conversation_tree import ConversationTree
from app.history.records import Conversation, SearchHit
from app.text_field import TextField

_SEARCH_DELAY_MS = 200


class ConversationList(QWidget):
    """Signals carry conversation ids; the owner changes the store and calls `show_conversations`.

    `menu_wanted` asks for the menu of the current conversation at a place on the screen.
    """

    chosen = Signal(int)
    opened_by_key = Signal(int)
    new_wanted = Signal()
    renamed = Signal(int, str)
    pin_wanted = Signal(int, bool)
    folder_wanted = Signal(int, str)
    menu_wanted = Signal(QPoint)
    search_changed = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.new_button = QPushButton("New conversation")
        self.search_field = TextField("Search conversations", "Search")
        self.search_field.offer_clearing()
        self.tree = ConversationTree()
        self._none_found = QLabel("Nothing found. Every word must occur, in a title or in one message.")
        self._none_found.setWordWrap(True)
        self._none_found.hide()
        self._delay = QTimer(self, singleShot=True, interval=_SEARCH_DELAY_MS)
        self._connect()
        layout = QVBoxLayout(self)
        for widget in (self.new_button, self.search_field, self._none_found, self.tree):
            layout.addWidget(widget)

    def _connect(self) -> None:
        self.new_button.clicked.connect(self.new_wanted)
        self._delay.timeout.connect(lambda: self.search_changed.emit(self.search_text))
        self.search_field.textChanged.connect(lambda _text: self._delay.start())
        self.search_field.returnPressed.connect(self._enter_rows)
        self.tree.chosen.connect(self.chosen)
        self.tree.activated_row.connect(self.opened_by_key)
        self.tree.renamed.connect(self.renamed)
        self.tree.renaming_ended.connect(lambda: self.search_changed.emit(self.search_text))
        self.tree.moved_to_folder.connect(self.folder_wanted)
        self.tree.pin_wanted.connect(self.pin_wanted)
        self.tree.menu_wanted.connect(self.menu_wanted)

    @property
    def search_text(self) -> str:
        return self.search_field.text().strip()

    @property
    def is_renaming(self) -> bool:
        """Whether a title is being edited."""
        return self.tree.is_renaming

    @property
    def current_id(self) -> int | None:
        """The conversation the list stands on."""
        return self.tree.current_id

    def focus_search(self) -> None:
        self.search_field.setFocus()
        self.search_field.selectAll()

    def titles(self) -> list[str]:
        """What the rows say, from the top, without headings."""
        return self.tree.texts()

    def show_conversations(
        self, conversations: Sequence[Conversation], current_id: int | None, busy_ids: set[int]
    ) -> None:
        """Replace the rows; emits nothing. Waits while a title is being edited."""
        if not self.is_renaming:
            self._none_found.hide()
            self.tree.show_conversations(conversations, current_id, busy_ids)

    def show_hits(self, hits: Sequence[SearchHit], current_id: int | None) -> None:
        """Replace the rows by search results; emits nothing. Waits while a title is being edited."""
        if not self.is_renaming:
            self._none_found.setVisible(not hits)
            self.tree.show_hits(hits, current_id)

    def rename(self, conversation_id: int) -> bool:
        """Edit the title in place; False if its row is not on the screen."""
        self.tree.setFocus()
        return self.tree.isVisible() and self.tree.rename(conversation_id)

    def _enter_rows(self) -> None:
        """Enter in the search goes on to what was found."""
        self._delay.stop()
        self.search_changed.emit(self.search_text)
        self.tree.setFocus()
        first = self.tree.topLevelItem(0)
        if self.tree.current_id is None and first is not None:
            self.tree.setCurrentItem(first)

    def event(self, event: QEvent) -> bool:
        """Esc in the search ends the search before it stops an answer."""
        is_escape = isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape
        if is_escape and event.type() == QEvent.Type.ShortcutOverride and self._is_searching:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self._is_searching:
            self.search_field.clear()
        else:
            super().keyPressEvent(event)

    @property
    def _is_searching(self) -> bool:
        return bool(self.search_field.text()) and self.search_field.hasFocus()
