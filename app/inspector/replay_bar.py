"""A bar to go through a recording: says that it is one, and of which time."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QPushButton, QSlider, QWidget

_STEP_MS = 100
_PAGE_MS = 1000


class ReplayBar(QWidget):
    """`moved` carries nanoseconds since the beginning."""

    moved = Signal(object)  # int: a C++ int would overflow after two seconds
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = QLabel()
        self._words.setWordWrap(True)
        self._words.setTextFormat(Qt.TextFormat.PlainText)
        self._slider = QSlider(Qt.Orientation.Horizontal)
        self._slider.setAccessibleName("Time of the recording")
        self._slider.setSingleStep(_STEP_MS)
        self._slider.setPageStep(_PAGE_MS)
        close = QPushButton("Back to live")
        close.setToolTip("Close the recording and show the engine again.")
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._words, 0, 0)
        layout.addWidget(close, 0, 1)
        layout.addWidget(self._slider, 1, 0, 1, 2)
        layout.setColumnStretch(0, 1)
        self._name = ""
        self._slider.valueChanged.connect(self._slid)
        close.clicked.connect(self.closed)

    @property
    def words(self) -> str:
        return self._words.text()

    def show_recording(self, name: str, span_ns: int) -> None:
        """Stand at the end of a recording."""
        self._name = name
        self._slider.blockSignals(True)
        self._slider.setRange(0, -(-span_ns // 1_000_000))
        self._slider.setValue(self._slider.maximum())
        self._slider.blockSignals(False)
        self._show_words()

    def go_to(self, seconds: float) -> None:
        """As a drag of the slider does."""
        self._slider.setValue(round(seconds * 1000))

    def _slid(self, milliseconds: int) -> None:
        self._show_words()
        self.moved.emit(milliseconds * 1_000_000)

    def _show_words(self) -> None:
        at, end = self._slider.value() / 1000, self._slider.maximum() / 1000
        self._words.setText(f"Recording “{self._name}”, {at:.1f} of {end:.1f} s")
