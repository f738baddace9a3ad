"""The page that says where things are kept, and copies them out and in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QGridLayout, QGroupBox, QLabel, QPushButton, QVBoxLayout, QWidget

_BACK_UP_WORDS = (
    "All conversations in one file, with every version of each answer. “Import” brings back what is missing."
)
Place = tuple[str, Path]


class DataPage(QWidget):
    """Signals ask the window for its file dialogs."""

    back_up_wanted = Signal()
    export_wanted = Signal()
    import_wanted = Signal()

    def __init__(self, places: Sequence[Place]) -> None:
        """`places` are (what is kept there, folder)."""
        super().__init__()
        layout = QVBoxLayout(self)
        layout.addWidget(self._folders(places))
        layout.addWidget(self._copies())
        layout.addStretch(1)

    def _folders(self, places: Sequence[Place]) -> QWidget:
        box = QGroupBox("Where things are")
        grid = QGridLayout(box)
        grid.setColumnStretch(1, 1)
        for row, (words, folder) in enumerate(places):
            path = QLabel(str(folder))
            path.setTextFormat(Qt.TextFormat.PlainText)
            path.setWordWrap(True)
            path.setTextInteractionFlags(
                Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
            )
            path.setAccessibleName(f"Folder of {words.lower()}")
            button = QPushButton("Open folder")
            button.setAutoDefault(False)
            button.setAccessibleName(f"Open the folder of {words.lower()}")
            button.clicked.connect(lambda _checked=False, shown=folder: open_folder(shown))
            grid.addWidget(QLabel(words), row, 0)
            grid.addWidget(path, row, 1)
            grid.addWidget(button, row, 2)
        return box

    def _copies(self) -> QWidget:
        box = QGroupBox("Copies")
        grid = QGridLayout(box)
        grid.setColumnStretch(1, 1)
        lines = (
            ("Back up…", self.back_up_wanted, _BACK_UP_WORDS),
            (
                "Export…",
                self.export_wanted,
                "All conversations as JSON, for other programs and for “Import”.",
            ),
            (
                "Import…",
                self.import_wanted,
                "Adds the conversations of an export or a backup to those you have.",
            ),
        )
        for row, (text, signal, words) in enumerate(lines):
            button, label = QPushButton(text), QLabel(words)
            button.setAutoDefault(False)
            button.setAccessibleDescription(words)
            button.clicked.connect(signal)
            label.setWordWrap(True)
            grid.addWidget(button, row, 0)
            grid.addWidget(label, row, 1)
        return box


def open_folder(folder: Path) -> None:
    """Show the folder in the system's file manager."""
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))
