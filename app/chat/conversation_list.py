"""The list of conversations: choose, search, rename in place, delete."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.history.records import Conversation, SearchHit

_ID = Qt.ItemDataRole.UserRole
_TITLE = int(Qt.ItemDataRole.UserRole) + 1
_SEARCH_DELAY_MS = 200


class ConversationList(QWidget):
    """Signals carry conversation ids; the owner changes the store and calls `show_conversations`."""

    chosen = Signal(int)
    new_wanted = Signal()
    renamed = Signal(int, str)
    delete_wanted = Signal(int)
    search_changed = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._new = QPushButton("New conversation")
        self._new.clicked.connect(self.new_wanted)
        self._search = QLineEdit()
        self._search.setPlaceholderText("Search")
        self._search.setAccessibleName("Search conversations")
        self._search.setClearButtonEnabled(True)
        self._delay = QTimer(self, singleShot=True, interval=_SEARCH_DELAY_MS)
        self._delay.timeout.connect(lambda: self.search_changed.emit(self.search_text))
        self._search.textChanged.connect(lambda _text: self._delay.start())
        self._list = _list_widget()
        self._list.currentItemChanged.connect(self._current_changed)
        self._list.itemChanged.connect(self._item_edited)
        self._list.itemDelegate().closeEditor.connect(lambda: QTimer.singleShot(0, self._end_renaming))
        self._list.customContextMenuRequested.connect(self._show_menu)
        self._add_actions()
        layout = QVBoxLayout(self)
        for widget in (self._new, self._search, self._list):
            layout.addWidget(widget)

    def _add_actions(self) -> None:
        self._rename = QAction("Rename", self._list)
        self._rename.setShortcut(QKeySequence(Qt.Key.Key_F2))
        self._rename.triggered.connect(self.rename_current)
        self._delete = QAction("Delete", self._list)
        self._delete.setShortcut(QKeySequence(QKeySequence.StandardKey.Delete))
        self._delete.triggered.connect(self.delete_current)
        for action in (self._rename, self._delete):
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            self._list.addAction(action)

    @property
    def search_text(self) -> str:
        return self._search.text().strip()

    @property
    def is_renaming(self) -> bool:
        """Whether a title is being edited."""
        return self._list.viewport().findChild(QLineEdit) is not None

    def focus_search(self) -> None:
        self._search.setFocus()
        self._search.selectAll()

    def titles(self) -> list[str]:
        """What the rows say, from the top."""
        return [self._list.item(row).text() for row in range(self._list.count())]

    def show_conversations(
        self, conversations: Sequence[Conversation], current_id: int | None, busy_ids: set[int]
    ) -> None:
        """Replace the rows; emits nothing. Waits while a title is being edited."""
        if self.is_renaming:
            return
        place = self._list.verticalScrollBar().value()
        with QSignalBlocker(self._list):
            self._list.clear()
            for conversation in conversations:
                title = conversation.title or "Untitled"
                is_busy = conversation.id in busy_ids
                self._add_row(conversation.id, title, f"{title} · answering" if is_busy else title)
            self._select(current_id)
        self._list.verticalScrollBar().setValue(place)

    def show_hits(self, hits: Sequence[SearchHit], current_id: int | None) -> None:
        """Replace the rows by search results; a conversation appears once, with its first place."""
        with QSignalBlocker(self._list):
            self._list.clear()
            seen: set[int] = set()
            for hit in hits:
                if hit.conversation_id not in seen:
                    seen.add(hit.conversation_id)
                    title = hit.title or "Untitled"
                    excerpt = "" if hit.message_id is None else f"\n{hit.excerpt.strip()}"
                    self._add_row(hit.conversation_id, title, title + excerpt)
            self._select(current_id)

    def _add_row(self, conversation_id: int, title: str, text: str) -> None:
        item = QListWidgetItem(text)
        item.setData(_ID, conversation_id)
        item.setData(_TITLE, title)
        item.setToolTip(title)
        item.setFlags(item.flags() | Qt.ItemFlag.ItemIsEditable)
        self._list.addItem(item)

    def _select(self, conversation_id: int | None) -> None:
        self._list.setCurrentRow(-1)
        for row in range(self._list.count()):
            if self._list.item(row).data(_ID) == conversation_id:
                self._list.setCurrentRow(row)

    def rename_current(self) -> None:
        """Edit the title in place."""
        if self._list.currentRow() < 0:
            return
        item = self._list.currentItem()
        with QSignalBlocker(self._list):
            item.setText(item.data(_TITLE))
        self._list.editItem(item)

    def delete_current(self) -> None:
        if self._list.currentRow() >= 0:
            self.delete_wanted.emit(self._list.currentItem().data(_ID))

    def _current_changed(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            self.chosen.emit(item.data(_ID))

    def _item_edited(self, item: QListWidgetItem) -> None:
        title = item.text().strip()
        if title and title != item.data(_TITLE):
            self.renamed.emit(item.data(_ID), title)
        elif not title:
            item.setText(item.data(_TITLE))

    def _end_renaming(self) -> None:
        if not self.is_renaming:
            self.search_changed.emit(self.search_text)

    def _show_menu(self, place: QPoint) -> None:
        if self._list.itemAt(place) is None:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addActions([self._rename, self._delete])
        menu.popup(self._list.viewport().mapToGlobal(place))


def _list_widget() -> QListWidget:
    widget = QListWidget()
    widget.setAccessibleName("Conversations")
    widget.setFrameShape(QListWidget.Shape.NoFrame)
    widget.setWordWrap(False)
    widget.setSpacing(2)
    widget.setTextElideMode(Qt.TextElideMode.ElideRight)
    widget.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    widget.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    widget.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
    return widget
