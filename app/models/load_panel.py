"""How far a load is, in words and as a bar, with a button to stop it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QProgressBar, QPushButton, QVBoxLayout, QWidget

from app.models.load_words import load_words
from engine.events import LoadProgress

_BAR_STEPS = 1000


class LoadPanel(QFrame):
    """Stands above the page while a model loads; the rest of the window stays usable."""

    cancel_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self._title, self._words = QLabel(), QLabel()
        self._title.setAccessibleName("Model being loaded")
        self._title.setTextFormat(Qt.TextFormat.PlainText)
        self._words.setAccessibleName("Progress of the load")
        self._words.setWordWrap(True)
        self._bar = QProgressBar()
        self._bar.setAccessibleName("Progress of the load")
        self._bar.setTextVisible(False)
        self._cancel = QPushButton("Cancel loading")
        self._cancel.setToolTip("Stop loading (Esc)")
        self._cancel.clicked.connect(self._ask_to_cancel)
        top = QHBoxLayout()
        top.addWidget(self._title, 1)
        top.addWidget(self._cancel)
        layout = QVBoxLayout(self)
        layout.addLayout(top)
        layout.addWidget(self._bar)
        layout.addWidget(self._words)
        self.hide()

    @property
    def text(self) -> str:
        return self._words.text()

    def begin(self, name: str) -> None:
        """A load was asked for."""
        self._title.setText(f"Loading {name}")
        self._cancel.setEnabled(True)
        self.show_progress(None)
        self.show()

    def show_progress(self, progress: LoadProgress | None) -> None:
        """Newest report; None before the first."""
        self._words.setText(load_words(progress))
        if progress is None or progress.total_bytes <= 0:
            self._bar.setRange(0, 0)
            return
        self._bar.setRange(0, _BAR_STEPS)
        self._bar.setValue(round(_BAR_STEPS * progress.done_bytes / progress.total_bytes))

    def _ask_to_cancel(self) -> None:
        self._cancel.setEnabled(False)
        self._words.setText("Stopping…")
        self.cancel_wanted.emit()
