"""What the window shows while nothing is loaded: ways to begin."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

_ABOUT = (
    "Emberglass runs mixture-of-experts models that are larger than your memory, on your own machine, "
    "and shows where every expert lives while it answers. Open a GGUF file, or drop one on this window."
)
_COLUMN_CHARACTERS = 64
_LIST_ROWS = 6
_ROW_GAP_PIXELS = 4
_MARGIN_PIXELS, _LEAST_WIDTH_PIXELS = 24, 240


class StartPage(QScrollArea):
    """Signals carry what the user chose."""

    open_wanted = Signal()
    demo_wanted = Signal()
    simulation_wanted = Signal()
    recent_chosen = Signal(object)

    def __init__(self, has_demo: bool) -> None:
        super().__init__()
        self._title, self._about = QLabel("Emberglass"), QLabel(_ABOUT)
        self._about.setWordWrap(True)
        self._open = QPushButton("Open a model…")
        self._open.setDefault(True)
        self._demo = QPushButton("Try the small demo model")
        self._demo.setVisible(has_demo)
        self._simulate = QPushButton("Try a simulated run")
        self._simulate.setToolTip("No model needed: words are fixed, figures are computed.")
        self._recent_title, self._recent = QLabel("Recent models"), QListWidget()
        self._recent.setAccessibleName("Recent models")
        self._recent.setSpacing(_ROW_GAP_PIXELS)
        self._recent_title.setBuddy(self._recent)
        self._open.clicked.connect(self.open_wanted)
        self._demo.clicked.connect(self.demo_wanted)
        self._simulate.clicked.connect(self.simulation_wanted)
        self._recent.itemActivated.connect(
            lambda item: self.recent_chosen.emit(item.data(Qt.ItemDataRole.UserRole))
        )
        self._build_layout()
        self.show_recent([])

    def _build_layout(self) -> None:
        column = QWidget()
        inner = QVBoxLayout(column)
        inner.setSpacing(10)
        widgets = (
            self._title, self._about, self._open, self._demo, self._simulate, self._recent_title, self._recent
        )  # fmt: skip
        for widget in widgets:
            inner.addWidget(widget)
        self._column, self._inner = column, inner
        page = QWidget()
        layout = QVBoxLayout(page)
        layout.addStretch(1)
        layout.addWidget(column, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(2)
        self.setWidget(page)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self._fit()

    def show_recent(self, models: Sequence[Path]) -> None:
        """Replace the list; hidden while empty."""
        self._recent.clear()
        for path in models:
            item = QListWidgetItem(f"{path.name}\n{_short_folder(path)}")
            item.setData(Qt.ItemDataRole.UserRole, path)
            item.setToolTip(str(path))
            self._recent.addItem(item)
        self._recent_title.setVisible(bool(models))
        self._recent.setVisible(bool(models))
        self._fit()

    def _fit(self) -> None:
        font = self.font()
        font.setPointSizeF(font.pointSizeF() * 2)
        self._title.setFont(font)
        metrics = self.fontMetrics()
        room = self.viewport().width() - _MARGIN_PIXELS
        width = max(min(metrics.averageCharWidth() * _COLUMN_CHARACTERS, room), _LEAST_WIDTH_PIXELS)
        self._column.setFixedWidth(width)
        margins = self._inner.contentsMargins()
        # a centred column is not asked for its height at this width
        text_width = width - margins.left() - margins.right()
        self._about.setFixedHeight(self._about.heightForWidth(text_width))
        rows = min(max(self._recent.count(), 1), _LIST_ROWS)
        row_height = metrics.lineSpacing() * 2 + 2 * _ROW_GAP_PIXELS
        self._recent.setFixedHeight(row_height * rows + 4 * _ROW_GAP_PIXELS)

    def changeEvent(self, event: object) -> None:
        super().changeEvent(event)  # type: ignore[arg-type] # the stub wants QEvent, which it is
        self._fit()

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type] # the stub wants QResizeEvent, which it is
        self._fit()


def _short_folder(path: Path) -> str:
    """The folder, with the home folder as ~."""
    try:
        return str(Path("~") / path.parent.relative_to(Path.home()))
    except (ValueError, RuntimeError):
        return str(path.parent)
