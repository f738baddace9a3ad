"""The page for presets: a list of them beside the form of the chosen one."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QMessageBox,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.history.errors import HistoryError
from app.history.records import ChatSettings, Preset
from app.name_dialog import NameDialog
from app.settings.preset_store import PresetStore
from app.settings.setting_levels import PROGRAM_WORDS
from app.settings.settings_form import SettingsForm

_SAVE_DELAY_MS = 300
_PRESET = Qt.ItemDataRole.UserRole
_NONE_WORDS = (
    "There is no preset yet. A preset holds a system prompt and settings under a name; make one with “New”."
)


class PresetsPage(QWidget):
    """Saves by itself, a moment after the last change.

    `changed` says that presets differ, `fault` carries a HistoryError.
    """

    changed = Signal()
    fault = Signal(object)

    def __init__(self, store: PresetStore, lowest: ChatSettings, parent: QWidget | None = None) -> None:
        """`lowest` is what applies where a preset says nothing."""
        super().__init__(parent)
        self._store, self._lowest = store, lowest
        self.list = QListWidget()
        self.list.setAccessibleName("Presets")
        self.form = SettingsForm()
        self._none = QLabel(_NONE_WORDS)
        self._none.setWordWrap(True)
        self.buttons = {text: QPushButton(text) for text in ("New", "Rename", "Delete")}
        self._delay = QTimer(self, singleShot=True, interval=_SAVE_DELAY_MS)
        self._delay.timeout.connect(self.save_now)
        self.list.currentItemChanged.connect(self._preset_chosen)
        self.form.changed.connect(self._delay.start)
        actions = (self.ask_new, self.ask_rename, self.ask_delete)
        for button, action in zip(self.buttons.values(), actions, strict=True):
            button.setAutoDefault(False)
            button.setAccessibleName(f"{button.text()} preset")
            button.clicked.connect(lambda _checked=False, call=action: call())
        self._build_layout()
        self.show_presets(None)

    def _build_layout(self) -> None:
        left = QVBoxLayout()
        left.addWidget(self.list, 1)
        row = QHBoxLayout()
        for button in self.buttons.values():
            row.addWidget(button)
        left.addLayout(row)
        area = QScrollArea()
        area.setAccessibleName("Settings of the preset")
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(self.form)
        right = QVBoxLayout()
        right.addWidget(self._none)
        right.addWidget(area, 1)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(left, 1)
        layout.addLayout(right, 3)

    # --- showing ------------------------------------------------------------------------------

    @property
    def preset(self) -> Preset | None:
        """The one whose form is shown."""
        item = self.list.currentItem()
        found = None if item is None else item.data(_PRESET)
        return found if isinstance(found, Preset) else None

    def show_presets(self, chosen_id: int | None) -> None:
        """Read the list anew and stand on this one, or on the first."""
        try:
            presets = self._store.presets()
        except HistoryError as error:
            self.fault.emit(error)
            return
        with QSignalBlocker(self.list):
            self.list.clear()
            for preset in presets:
                item = QListWidgetItem(preset.name)
                item.setData(_PRESET, preset)
                self.list.addItem(item)
            rows = [row for row, preset in enumerate(presets) if preset.id == chosen_id]
            self.list.setCurrentRow(rows[0] if rows else 0)
        self._show_form()

    def _show_form(self) -> None:
        preset = self.preset
        self._none.setVisible(preset is None)
        self.form.setVisible(preset is not None)
        for text in ("Rename", "Delete"):
            self.buttons[text].setEnabled(preset is not None)
        if preset is not None:
            self.form.show_level(preset.settings, self._lowest, PROGRAM_WORDS)

    def _preset_chosen(self, _item: QListWidgetItem | None, old: QListWidgetItem | None) -> None:
        if self._delay.isActive() and old is not None:
            self._delay.stop()
            self._save(old)
        self._show_form()

    # --- changing -----------------------------------------------------------------------------

    def save_now(self) -> None:
        """Before the dialog closes."""
        self._delay.stop()
        item = self.list.currentItem()
        if item is not None:
            self._save(item)

    def _save(self, item: QListWidgetItem) -> None:
        preset: Preset = item.data(_PRESET)
        if preset.settings == self.form.settings:
            return
        try:
            saved = self._store.save_preset(preset.name, self.form.settings, preset.id)
        except HistoryError as error:
            self.fault.emit(error)
            return
        item.setData(_PRESET, saved)
        self.changed.emit()

    def ask_new(self) -> None:
        self._ask_name("New preset", "", lambda name: self._store_preset(name, ChatSettings(), None))

    def ask_rename(self) -> None:
        preset = self.preset
        if preset is not None:
            self.save_now()
            self._ask_name("Rename preset", preset.name, lambda name: self._rename(preset.id, name))

    def _ask_name(self, title: str, name: str, call: Callable[[str], None]) -> None:
        dialog = NameDialog(title, "Name of the preset", name, self)
        dialog.accepted.connect(lambda: call(dialog.name))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _rename(self, preset_id: int, name: str) -> None:
        self._store_preset(name, self.form.settings, preset_id)

    def _store_preset(self, name: str, settings: ChatSettings, preset_id: int | None) -> None:
        self.save_now()
        try:
            saved = self._store.save_preset(name, settings, preset_id)
        except HistoryError as error:
            self.fault.emit(error)
            return
        self.show_presets(saved.id)
        self.changed.emit()
        self.form.prompt.setFocus()

    def ask_delete(self) -> None:
        preset = self.preset
        if preset is None:
            return
        box = QMessageBox(QMessageBox.Icon.Question, "Delete preset", f"Delete the preset “{preset.name}”?",
                          QMessageBox.StandardButton.Cancel, self)  # fmt: skip
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setInformativeText("Conversations that use it go on with Emberglass’s own values.")
        delete = box.addButton("Delete", QMessageBox.ButtonRole.DestructiveRole)
        delete.clicked.connect(lambda: self._delete(preset.id))
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.open()

    def _delete(self, preset_id: int) -> None:
        self._delay.stop()
        try:
            self._store.delete_preset(preset_id)
        except HistoryError as error:
            self.fault.emit(error)
        self.show_presets(None)
        self.changed.emit()
