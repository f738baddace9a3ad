"""The rows of the conversation list under their headings; dragging a row moves it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QPoint, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QContextMenuEvent, QDragMoveEvent, QDropEvent, QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QLineEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from app.chat.conversation_groups import Group, GroupKind, grouped
from app.chat.conversation_rows import ID, TITLE, WORDS, ConversationRows
from app.chat.row_words import RowWords, conversation_words, hit_words, shown_title
from app.history.records import Conversation, SearchHit

_GROUP = ID + 10
_OPEN_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class ConversationTree(QTreeWidget):
    """Signals carry conversation ids; `moved_to_folder` "" for none, `menu_wanted` a place on the screen.

    `activated_row` says that Enter was pressed on a conversation.
    """

    chosen = Signal(int)
    activated_row = Signal(int)
    renamed = Signal(int, str)
    renaming_ended = Signal()
    moved_to_folder = Signal(int, str)
    pin_wanted = Signal(int, bool)
    menu_wanted = Signal(QPoint)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._collapsed: set[tuple[GroupKind, str]] = set()
        # what the rows say; None for search results
        self._content: list[tuple[int, str, bool, str, bool]] | None = None
        self.setAccessibleName("Conversations")
        rows = ConversationRows(self)
        rows.renamed.connect(self.renamed)
        rows.closeEditor.connect(lambda: QTimer.singleShot(0, self, self._end_renaming))
        self.setItemDelegate(rows)
        self._set_look()
        self.currentItemChanged.connect(self._current_changed)
        self.itemExpanded.connect(lambda item: self._collapsed.discard(_group_key(item)))
        self.itemCollapsed.connect(lambda item: self._collapsed.add(_group_key(item)))

    def _set_look(self) -> None:
        self.setHeaderHidden(True)
        self.header().setAccessibleName("Conversations")
        self.setFrameShape(QTreeWidget.Shape.NoFrame)
        self.setIndentation(self.fontMetrics().averageCharWidth() * 2)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setDragEnabled(True)
        self.setAcceptDrops(True)
        self.setDropIndicatorShown(True)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragDrop)
        # a move would take the row out before the store agrees
        self.setDefaultDropAction(Qt.DropAction.CopyAction)

    # --- content ------------------------------------------------------------------------------

    @property
    def is_renaming(self) -> bool:
        """Whether a title is being edited."""
        return self.viewport().findChild(QLineEdit) is not None

    @property
    def current_id(self) -> int | None:
        """The conversation the list stands on."""
        item = self.currentItem()
        found = None if item is None else item.data(0, ID)
        return found if isinstance(found, int) else None

    def texts(self) -> list[str]:
        """What the rows of conversations say, from the top."""
        return [item.text(0) for item in self._conversation_items()]

    def headings(self) -> list[str]:
        return [item.text(0) for item in self._top_items() if item.data(0, ID) is None]

    def show_conversations(
        self, conversations: Sequence[Conversation], current_id: int | None, busy_ids: set[int]
    ) -> None:
        """Replace the rows, unless they say all this already; emits nothing."""
        content = [
            (each.id, each.title, each.is_pinned, each.folder, each.id in busy_ids) for each in conversations
        ]
        if content == self._content:
            self.show_current(current_id)
            return
        self._content = content
        place = self.verticalScrollBar().value()
        with QSignalBlocker(self):
            self.clear()
            groups = grouped(conversations)
            self.setRootIsDecorated(any(group.title for group in groups))
            for group in groups:
                self._add_group(group, busy_ids)
            self._select(current_id)
        self.verticalScrollBar().setValue(place)

    def show_hits(self, hits: Sequence[SearchHit], current_id: int | None) -> None:
        """Replace the rows by search results; a conversation appears once, with its first place."""
        self._content = None
        with QSignalBlocker(self):
            self.clear()
            self.setRootIsDecorated(False)
            seen: set[int] = set()
            for hit in hits:
                if hit.conversation_id not in seen:
                    seen.add(hit.conversation_id)
                    self.addTopLevelItem(_row(hit.conversation_id, hit.title, hit_words(hit)))
            self._select(current_id)

    def _add_group(self, group: Group, busy_ids: set[int]) -> None:
        rows = [_row(each.id, each.title, conversation_words(each, each.id in busy_ids))
                for each in group.conversations]  # fmt: skip
        if not group.title:
            self.addTopLevelItems(rows)
            return
        heading = _heading(group)
        heading.addChildren(rows)
        self.addTopLevelItem(heading)
        heading.setExpanded(_group_key(heading) not in self._collapsed)

    def _conversation_items(self) -> list[QTreeWidgetItem]:
        items: list[QTreeWidgetItem] = []
        for top in self._top_items():
            is_row = top.data(0, ID) is not None
            rows = [top] if is_row else [top.child(row) for row in range(top.childCount())]
            items += [row for row in rows if row is not None]
        return items

    def _top_items(self) -> list[QTreeWidgetItem]:
        return [item for row in range(self.topLevelItemCount()) if (item := self.topLevelItem(row))]

    def item_of(self, conversation_id: int | None) -> QTreeWidgetItem | None:
        """Its row, if it is shown."""
        return next((i for i in self._conversation_items() if i.data(0, ID) == conversation_id), None)

    def show_current(self, conversation_id: int | None) -> None:
        """Stand on the row of this conversation, or on none; emits nothing."""
        if self.current_id != conversation_id and not self.is_renaming:
            with QSignalBlocker(self):
                self.setCurrentIndex(QModelIndex())
                self._select(conversation_id)
            self.viewport().update()

    def _select(self, conversation_id: int | None) -> None:
        item = self.item_of(conversation_id)
        heading = None if item is None else item.parent()
        # making a row current would open the folder that the user has closed
        if item is not None and (heading is None or heading.isExpanded()):
            self.setCurrentItem(item)

    def rename(self, conversation_id: int) -> bool:
        """Edit the title in place; False if no row shows it."""
        item = self.item_of(conversation_id)
        heading = None if item is None else item.parent()
        if item is None or (heading is not None and not heading.isExpanded()):
            return False
        with QSignalBlocker(self):
            self.setCurrentItem(item)
        self.editItem(item, 0)
        return True

    def _end_renaming(self) -> None:
        if not self.is_renaming:
            self.renaming_ended.emit()

    def _current_changed(self, item: QTreeWidgetItem | None) -> None:
        if item is not None and item.data(0, ID) is not None:
            self.chosen.emit(item.data(0, ID))

    # --- keys, menu, dragging -----------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_menu = event.key() == Qt.Key.Key_F10 and event.modifiers() == Qt.KeyboardModifier.ShiftModifier
        if is_menu and self.current_id is not None:
            self.menu_wanted.emit(self._below_current())
        elif event.key() in _OPEN_KEYS and self.current_id is not None:
            self.activated_row.emit(self.current_id)
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        is_by_key = event.reason() == QContextMenuEvent.Reason.Keyboard
        at_mouse = self.itemAt(self.viewport().mapFromGlobal(event.globalPos()))
        is_on_current = at_mouse is not None and at_mouse.data(0, ID) == self.current_id
        if self.current_id is not None and (is_by_key or is_on_current):
            self.menu_wanted.emit(self._below_current() if is_by_key else event.globalPos())

    def _below_current(self) -> QPoint:
        item = self.currentItem()
        area = self.viewport().rect() if item is None else self.visualItemRect(item)
        return self.viewport().mapToGlobal(area.bottomLeft())

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        super().dragMoveEvent(event)
        is_own_row = event.source() is self and self.current_id is not None
        event.setAccepted(is_own_row and self._group_at(event.position().toPoint()) is not None)

    def dropEvent(self, event: QDropEvent) -> None:
        group, dragged = self._group_at(event.position().toPoint()), self.current_id
        if event.source() is not self or group is None or dragged is None:
            event.ignore()
            return
        event.acceptProposedAction()
        self.drop_into(dragged, group)

    def drop_into(self, conversation_id: int, group: Group) -> None:
        """Ask for what a drop on this heading means."""
        if group.kind is GroupKind.PINNED:
            self.pin_wanted.emit(conversation_id, True)
            return
        item = self.item_of(conversation_id)
        heading = None if item is None else item.parent()
        old = None if heading is None else heading.data(0, _GROUP)
        if isinstance(old, Group) and old.kind is GroupKind.PINNED:
            self.pin_wanted.emit(conversation_id, False)
        self.moved_to_folder.emit(conversation_id, group.folder)

    def _group_at(self, place: QPoint) -> Group | None:
        item = self.itemAt(place)
        if item is None:
            return None
        group = (item.parent() or item).data(0, _GROUP)
        return group if isinstance(group, Group) else None


def _row(conversation_id: int, title: str, words: RowWords) -> QTreeWidgetItem:
    item = QTreeWidgetItem([words.text])
    item.setData(0, ID, conversation_id)
    item.setData(0, TITLE, shown_title(title))
    item.setData(0, WORDS, words)
    item.setData(0, Qt.ItemDataRole.AccessibleTextRole, words.said)
    item.setToolTip(0, shown_title(title))
    item.setFlags(item.flags() | Qt.ItemFlag.ItemIsEditable)
    return item


def _heading(group: Group) -> QTreeWidgetItem:
    item = QTreeWidgetItem([group.title])
    item.setData(0, _GROUP, group)
    count = len(group.conversations)
    said = f"{group.title}, {count} conversation{'' if count == 1 else 's'}"
    item.setData(0, Qt.ItemDataRole.AccessibleTextRole, said)
    item.setToolTip(0, said)
    item.setFlags(item.flags() & ~Qt.ItemFlag.ItemIsDragEnabled & ~Qt.ItemFlag.ItemIsSelectable)
    font = item.font(0)
    font.setBold(True)
    item.setFont(0, font)
    return item


def _group_key(item: QTreeWidgetItem) -> tuple[GroupKind, str]:
    group: Group = item.data(0, _GROUP)
    return group.kind, group.title
