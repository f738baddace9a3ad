"""The settings of one conversation: its preset, and what it changes of its own."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLabel,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.dialog_buttons import dialog_buttons
from app.history.errors import HistoryError
from app.history.records import ChatSettings
from app.settings.chat_page import fill_preset_choice
from app.settings.preset_store import ConversationStore
from app.settings.setting_levels import PROGRAM_WORDS, merged
from app.settings.settings_form import SettingsForm

_SAVE_DELAY_MS = 300
_WIDTH_CHARACTERS, _HEIGHT_LINES = 84, 34
_ABOUT = "For this conversation only, from its next answer on. What is changed here wins over the preset."


class ConversationSettings(QDialog):
    """Saves by itself, a moment after the last change; `fault` carries a HistoryError."""

    fault = Signal(object)

    def __init__(
        self,
        store: ConversationStore,
        conversation_id: int,
        title: str,
        lowest: ChatSettings,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(f"Settings of “{title}”")
        self._store, self._conversation_id, self._lowest = store, conversation_id, lowest
        self.preset = QComboBox()
        self.preset.setAccessibleName("Preset of this conversation")
        self.preset.activated.connect(self._preset_chosen)
        self.form = SettingsForm()
        self._delay = QTimer(self, singleShot=True, interval=_SAVE_DELAY_MS)
        self._delay.timeout.connect(self.save_now)
        self.form.changed.connect(self._delay.start)
        self.finished.connect(lambda _code: self.save_now())
        self._build_layout()
        self._show_stored()

    def _build_layout(self) -> None:
        about = QLabel(_ABOUT)
        about.setWordWrap(True)
        top = QFormLayout()
        top.addRow("&Preset", self.preset)
        area = QScrollArea()
        area.setAccessibleName("What this conversation changes")
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(self.form)
        buttons = dialog_buttons(self, QDialogButtonBox.StandardButton.Close)
        layout = QVBoxLayout(self)
        layout.addWidget(about)
        layout.addLayout(top)
        layout.addWidget(area, 1)
        layout.addWidget(buttons)
        metrics, room = self.fontMetrics(), self.screen().availableGeometry()
        self.resize(
            min(metrics.averageCharWidth() * _WIDTH_CHARACTERS, round(room.width() * 0.9)),
            min(metrics.lineSpacing() * _HEIGHT_LINES, round(room.height() * 0.9)),
        )

    def _show_stored(self) -> None:
        try:
            presets = self._store.presets()
            chosen = self._store.preset_of(self._conversation_id)
            own = self._store.settings_of(self._conversation_id)
        except HistoryError as error:
            self.fault.emit(error)
            return
        self._levels: dict[int | None, ChatSettings] = {each.id: each.settings for each in presets}
        with QSignalBlocker(self.preset):
            fill_preset_choice(self.preset, [(each.id, each.name) for each in presets])
            place = self.preset.findData(None if chosen is None else chosen.id)
            self.preset.setCurrentIndex(max(place, 0))
        self._show_form(own)

    def _show_form(self, own: ChatSettings) -> None:
        chosen: int | None = self.preset.currentData()
        preset = self._levels.get(chosen)
        lower = self._lowest if preset is None else merged(preset, self._lowest)
        words = PROGRAM_WORDS if preset is None else f"the preset “{self.preset.currentText()}”"
        self.form.show_level(own, lower, words)

    def _preset_chosen(self, _place: int) -> None:
        self.save_now()
        try:
            self._store.set_preset(self._conversation_id, self.preset.currentData())
        except HistoryError as error:
            self.fault.emit(error)
            self._show_stored()
            return
        self._show_form(self.form.settings)

    def save_now(self) -> None:
        """Keep what the form says, if it differs from what is kept."""
        self._delay.stop()
        try:
            if self._store.settings_of(self._conversation_id) != self.form.settings:
                self._store.set_settings(self._conversation_id, self.form.settings)
        except HistoryError as error:
            self.fault.emit(error)
