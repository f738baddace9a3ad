"""Asks with how much memory and context a model should be loaded, and for all else on demand."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QDoubleSpinBox,
    QFormLayout,
    QFrame,
    QLabel,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from app.composition_guard import CompositionGuard
from app.dialog_buttons import dialog_buttons
from app.forecast_words import answer_line
from app.load_fields import LoadFields
from app.load_forecast import ForecastAnswer
from engine.config import GIB, LoadSettings, format_size
from engine.hardware.memory import available_bytes

_MORE = (
    "pool_per_layer", "hot_per_layer", "unit_tokens", "routing", "is_pool_fixed", "repack", "devices",
    "vram_budget_bytes", "staging_slots",
)  # fmt: skip
_ASK_DELAY_MS = 250
_WIDTH_CHARACTERS, _MORE_LINES = 60, 16
_MORE_WORDS, _LESS_WORDS = "More settings", "Fewer settings"


class LoadDialog(QDialog):
    """After `accepted`, `settings` holds the choice. `forecast_wanted` carries what would be loaded."""

    forecast_wanted = Signal(object)

    def __init__(
        self, asked: LoadSettings, known_devices: tuple[str, ...] = (), parent: QWidget | None = None
    ) -> None:
        """`asked`: what the fields say at first, and which file."""
        super().__init__(parent)
        self.setWindowTitle("Load a model")
        self._path = asked.path
        self._ram, self._context = _ram_field(), _context_field()
        self._ram.setValue((asked.ram_budget_bytes or 0) / GIB)
        self._context.setValue(asked.context_tokens or 0)
        self.more = LoadFields(_MORE, asked)
        self.more.show_settings(asked, known_devices)
        self._more_area, self._more_button = _scrolled(self.more), QPushButton(_MORE_WORDS)
        self._forecast = QLabel()
        self._delay = QTimer(self, singleShot=True, interval=_ASK_DELAY_MS)
        self._delay.timeout.connect(self._ask_forecast)
        self._build_layout()
        for field in (self._ram, self._context):
            CompositionGuard(field)
            field.valueChanged.connect(self._changed)
        self.more.changed.connect(self._changed)
        # what was chosen before must be seen
        self._more_button.setChecked(self._unusual())
        self._fit()
        self._changed()

    def _build_layout(self) -> None:
        file = QLabel(file_words(self._path))
        free = QLabel(f"{format_size(available_bytes())} of memory are available now.")
        for label in (file, free, self._forecast):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
        self._forecast.setAccessibleName("What this load is expected to give")
        form = QFormLayout()
        form.addRow("&Memory for the model", self._ram)
        form.addRow("&Context", self._context)
        self._more_button.setCheckable(True)
        self._more_button.setAutoDefault(False)
        self._more_button.toggled.connect(self._show_more)
        self._more_area.setVisible(False)
        kinds = QDialogButtonBox.StandardButton
        buttons = dialog_buttons(self, kinds.Open | kinds.Cancel)
        self._load = buttons.button(kinds.Open)
        self._load.setText("Load")
        layout = self._layout = QVBoxLayout(self)
        layout.addWidget(file)
        layout.addLayout(form)
        layout.addWidget(free)
        layout.addWidget(self._more_button, 0, Qt.AlignmentFlag.AlignLeft)
        layout.addWidget(self._more_area, 1)
        for widget in (self._forecast, buttons):
            layout.addWidget(widget)
        chain = self._ram, self._context, self._more_button, *self.more.focus_chain(), *buttons.buttons()
        for before, after in pairwise(chain):
            self.setTabOrder(before, after)
        self._ram.setFocus()

    def _show_more(self, is_shown: bool) -> None:
        self._more_area.setVisible(is_shown)
        self._more_button.setText(_LESS_WORDS if is_shown else _MORE_WORDS)
        self._fit()

    def _fit(self) -> None:
        """As high as its words need at this width, and whole on the screen."""
        metrics, screen = self.fontMetrics(), self.screen().availableGeometry()
        least = min(metrics.averageCharWidth() * _WIDTH_CHARACTERS, round(screen.width() * 0.9))
        width = max(self.width() if self.isVisible() else 0, least)
        height = self._layout.totalHeightForWidth(width)
        if self._more_button.isChecked():
            height += metrics.lineSpacing() * _MORE_LINES
        self.resize(width, min(height, round(screen.height() * 0.9)))
        if self.isVisible() and not screen.contains(self.frameGeometry()):
            self.move(self.x(), max(screen.top(), screen.bottom() - self.frameGeometry().height()))

    def _unusual(self) -> bool:
        automatic = LoadSettings(self._path, devices=self.more.base.devices)
        return any(getattr(self.more.base, name) != getattr(automatic, name) for name in _MORE)

    # --- values -------------------------------------------------------------------------------

    @property
    def settings(self) -> LoadSettings:
        """What to load; 0 in a field means automatic. A field with a fault is left as it was."""
        return replace(
            self.more.chosen.settings or self.more.base,
            ram_budget_bytes=round(self._ram.value() * GIB) or None,
            context_tokens=self._context.value() or None,
        )

    @property
    def forecast(self) -> str:
        """What the load is expected to give, as it is shown."""
        return self._forecast.text()

    def show_forecast(self, answer: ForecastAnswer) -> None:
        """Show it, unless the fields say something else by now."""
        if answer.settings == self.settings:
            self._forecast.setText(answer_line(answer))
            if self._layout.totalHeightForWidth(self.width()) > self.height():
                self._fit()

    def _changed(self) -> None:
        is_sound = self.more.chosen.settings is not None
        self._load.setEnabled(is_sound)
        self._delay.start()

    def _ask_forecast(self) -> None:
        if self.more.chosen.settings is not None:
            self.forecast_wanted.emit(self.settings)


def file_words(path: Path) -> str:
    """Name, size and place of a file; the loader says what is wrong with one that can't be read."""
    try:
        size = f" ({format_size(path.stat().st_size)})"
    except OSError:
        size = ""
    return f"{path.name}{size}\nin {path.parent}"


def _scrolled(widget: QWidget) -> QScrollArea:
    area = QScrollArea()
    area.setAccessibleName("More settings")
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setWidget(widget)
    return area


def _ram_field() -> QDoubleSpinBox:
    field = QDoubleSpinBox()
    field.setRange(0, 4096)
    field.setSingleStep(0.5)
    field.setDecimals(2)
    field.setSuffix(" GiB")
    field.setSpecialValueText("automatic")
    field.setAccessibleName("Memory for the model")
    field.setToolTip("The program stays within this much memory; automatic fits it to what is available.")
    return field


def _context_field() -> QSpinBox:
    field = QSpinBox()
    field.setRange(0, 1 << 20)
    field.setSingleStep(1024)
    field.setSuffix(" tokens")
    field.setSpecialValueText("automatic")
    field.setAccessibleName("Context window")
    field.setToolTip("How many tokens of conversation the model can look back on.")
    return field
