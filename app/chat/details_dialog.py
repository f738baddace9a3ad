"""The details of one message: a table to read, and ways to copy."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QHeaderView,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.chat.message_details import details_rows, details_text
from app.history.records import Message

_SIZE_CHARACTERS = (70, 26)


class DetailsDialog(QDialog):
    """`copy_wanted` asks for the message's text, True for it without Markdown marks."""

    copy_wanted = Signal(bool)

    def __init__(self, message: Message, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("Message details")
        self._message = message
        self.table = QTreeWidget()
        self.table.setAccessibleName("Details of the message")
        self.table.setHeaderLabels(["What", "Value"])
        self.table.setRootIsDecorated(False)
        self.table.setWordWrap(True)
        self.table.header().setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
        self._fill()
        layout = QVBoxLayout(self)
        layout.addWidget(self.table)
        layout.addLayout(self._buttons())
        columns, lines = _SIZE_CHARACTERS
        metrics = self.fontMetrics()
        self.resize(columns * metrics.averageCharWidth(), lines * metrics.lineSpacing())

    def _fill(self) -> None:
        for title, rows in details_rows(self._message):
            section = QTreeWidgetItem([title])
            font = section.font(0)
            font.setBold(True)
            section.setFont(0, font)
            self.table.addTopLevelItem(section)
            section.setFirstColumnSpanned(True)
            # the cell beside it is part of the title, also for a screen reader
            section.setData(1, Qt.ItemDataRole.AccessibleTextRole, title)
            for name, value in rows:
                item = QTreeWidgetItem([name, value])
                item.setToolTip(1, value)
                section.addChild(item)
            section.setExpanded(True)

    def _buttons(self) -> QHBoxLayout:
        row = QHBoxLayout()
        actions = (
            ("Copy the &figures", lambda: QGuiApplication.clipboard().setText(details_text(self._message))),
            ("Copy as &Markdown", lambda: self.copy_wanted.emit(False)),
            ("Copy as &plain text", lambda: self.copy_wanted.emit(True)),
        )
        for text, call in actions:
            button = QPushButton(text)
            button.setAutoDefault(False)
            button.clicked.connect(call)
            row.addWidget(button)
        row.addStretch(1)
        close = QPushButton("&Close")
        close.setDefault(True)
        close.clicked.connect(self.accept)
        row.addWidget(close)
        return row
