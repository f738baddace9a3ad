"""The page for the chat: how to send, what new conversations begin with, and the presets."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QCheckBox, QComboBox, QFormLayout, QVBoxLayout, QWidget

from app.history.errors import HistoryError
from app.history.records import ChatSettings
from app.settings.choices import ChatChoices
from app.settings.preset_store import PresetStore
from app.settings.presets_page import PresetsPage

_NO_PRESET = "No preset (Emberglass’s own values)"


class ChatPage(QWidget):
    """Each change takes effect at once."""

    def __init__(self, store: PresetStore, choices: ChatChoices, lowest: ChatSettings) -> None:
        super().__init__()
        self._store, self._choices = store, choices
        self.ctrl_enter = QCheckBox("Send messages with &Ctrl+Enter; Enter starts a new line")
        self.ctrl_enter.setChecked(choices.sends_with_ctrl_enter)
        self.ctrl_enter.toggled.connect(choices.set_sends_with_ctrl_enter)
        self.default = QComboBox()
        self.default.setAccessibleName("Preset of new conversations")
        self.default.activated.connect(self._default_chosen)
        self.presets = PresetsPage(store, lowest)
        self.presets.changed.connect(self._show_defaults)
        form = QFormLayout()
        form.addRow("&New conversations begin with", self.default)
        layout = QVBoxLayout(self)
        layout.addWidget(self.ctrl_enter)
        layout.addLayout(form)
        layout.addWidget(self.presets, 1)
        self._show_defaults()

    def _show_defaults(self) -> None:
        try:
            presets = self._store.presets()
        except HistoryError as error:
            self.presets.fault.emit(error)
            return
        with QSignalBlocker(self.default):
            fill_preset_choice(self.default, [(each.id, each.name) for each in presets])
            place = self.default.findData(self._choices.default_preset_id)
            # a preset that was deleted is no default any more
            self.default.setCurrentIndex(max(place, 0))

    def _default_chosen(self, _place: int) -> None:
        self._choices.set_default_preset_id(self.default.currentData())


def fill_preset_choice(box: QComboBox, presets: list[tuple[int, str]]) -> None:
    """Offer no preset, then each; the data is the id or None."""
    box.clear()
    box.addItem(_NO_PRESET, None)
    for number, name in presets:
        box.addItem(name, number)
