"""The command palette: type a few letters, Enter does it; for menus, conversations and models alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QDialog,
    QHeaderView,
    QLabel,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.fuzzy_match import fuzzy_score
from app.text_field import TextField

_WIDTH_CHARACTERS, _HEIGHT_LINES = 76, 20
_MOST_ROWS = 200
_LIST_KEYS = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)
_COMMAND = Qt.ItemDataRole.UserRole


@dataclass(frozen=True, slots=True)
class Command:
    """One line of the palette; `place` says where it comes from, `keys` its shortcut if it has one."""

    text: str
    place: str
    keys: str
    run: Callable[[], object]


def fitting(commands: Sequence[Command], typed: str) -> list[Command]:
    """The commands that fit, best first; the menu's own order among equals."""
    scored = []
    for command in commands:
        score = fuzzy_score(typed, command.text)
        if score is None:
            # words may also name the menu: less than any fit of the text itself
            by_place = fuzzy_score(typed, f"{command.text} {command.place}")
            score = None if by_place is None else by_place - 100_000
        if score is not None:
            scored.append((score, command))
    if typed.strip():
        scored.sort(key=lambda pair: -pair[0])
    return [command for _, command in scored[:_MOST_ROWS]]


class PaletteField(TextField):
    """Keeps the focus; `list_key` carries the events of keys that walk a list."""

    list_key = Signal(QKeyEvent)

    def __init__(self) -> None:
        super().__init__(
            "Find a command, a conversation or a model",
            "Type to find a command, a conversation or a model",
        )

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in _LIST_KEYS:
            self.list_key.emit(event)
        else:
            super().keyPressEvent(event)


class CommandPalette(QDialog):
    """Runs the chosen command after it has closed, so that the window has the focus again."""

    def __init__(self, commands: Sequence[Command], parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Command palette")
        self._commands, self._window = list(commands), parent
        self._typed, self._list = PaletteField(), _list_widget()
        self._none = QLabel("Nothing fits. Delete a few letters.")
        self._none.hide()
        self._typed.textChanged.connect(self._show_fitting)
        self._typed.returnPressed.connect(self._run_current)
        self._typed.list_key.connect(lambda event: QApplication.sendEvent(self._list, event))
        self._list.itemClicked.connect(lambda _item: self._run_current())
        layout = QVBoxLayout(self)
        for widget in (self._typed, self._list, self._none):
            layout.addWidget(widget)
        self._fit(parent)
        self._show_fitting("")
        self._typed.setFocus()

    def _fit(self, parent: QWidget) -> None:
        metrics, room = self.fontMetrics(), parent.size()
        self.resize(
            min(metrics.averageCharWidth() * _WIDTH_CHARACTERS, round(room.width() * 0.9)),
            min(metrics.lineSpacing() * _HEIGHT_LINES, round(room.height() * 0.8)),
        )

    def texts(self) -> list[str]:
        """What the rows say, from the top."""
        rows = (self._list.topLevelItem(row) for row in range(self._list.topLevelItemCount()))
        return [row.text(0) for row in rows if row is not None]

    def _show_fitting(self, typed: str) -> None:
        self._list.clear()
        for command in fitting(self._commands, typed):
            item = QTreeWidgetItem([command.text, command.place, command.keys])
            item.setData(0, _COMMAND, command)
            said = ", ".join(part for part in (command.text, command.place, command.keys) if part)
            item.setData(0, Qt.ItemDataRole.AccessibleTextRole, said)
            # an empty cell would be a part without a name
            item.setData(2, Qt.ItemDataRole.AccessibleTextRole, command.keys or "no shortcut")
            item.setToolTip(0, command.text)
            item.setForeground(1, self.palette().placeholderText())
            self._list.addTopLevelItem(item)
        first = self._list.topLevelItem(0)
        self._none.setVisible(first is None)
        if first is not None:
            self._list.setCurrentItem(first)

    def _run_current(self) -> None:
        item = self._list.currentItem()
        if item is not None:
            command: Command = item.data(0, _COMMAND)
            self.accept()
            QTimer.singleShot(0, self._window, command.run)


def _list_widget() -> QTreeWidget:
    widget = QTreeWidget()
    widget.setAccessibleName("Commands that fit")
    widget.setColumnCount(3)
    widget.setHeaderHidden(True)
    widget.header().setAccessibleName("Commands")
    widget.setRootIsDecorated(False)
    widget.setUniformRowHeights(True)
    widget.setAllColumnsShowFocus(True)
    widget.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    widget.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    # typing goes on in the field above; the arrow keys reach the list from there
    widget.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    widget.header().setStretchLastSection(False)
    widget.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
    for column in (1, 2):
        widget.header().setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
    return widget
