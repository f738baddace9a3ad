"""The form for load settings, used by the load dialog and by the inspector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QComboBox, QGridLayout, QWidget

from app.device_checks import DeviceChecks
from app.load_choices import (
    DEVICES,
    ON_A_DEVICE,
    OPTIONS,
    WITH_POOLS,
    Chosen,
    Option,
    read_choices,
    text_of,
)
from app.load_explanations import CHOICES
from app.load_row import ROWS_EACH, LoadRow
from app.text_field import TextField
from engine.config import LoadSettings, Routing

_LEAST_CHARACTERS = 9
_LEAST_TITLES = 2.75  # widths of the longest title that a title, an editor and “?” need side by side


class LoadFields(QWidget):
    """Edits a copy of some settings; `changed` after each change by the user. GUI thread.

    An empty field means automatic. A text that is no value stays where it is, with what is wrong below it.
    """

    changed = Signal()

    def __init__(self, names: Sequence[str], base: LoadSettings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._base = base
        self.texts: dict[str, TextField] = {}
        self.options: dict[str, QComboBox] = {}
        self.devices = DeviceChecks()
        self.rows: dict[str, LoadRow] = {}
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setColumnStretch(1, 1)
        self._grid.setVerticalSpacing(3)
        for place, name in enumerate(names):
            # one row more, for what `add_below` puts there
            self.rows[name] = LoadRow(CHOICES[name], self._editor(name), self._grid, place * (ROWS_EACH + 1))
        self._grid.setRowStretch(len(names) * (ROWS_EACH + 1), 1)
        self._names = list(names)
        self._is_narrow = False
        self._write(base, base.devices)

    def _editor(self, name: str) -> QWidget:
        if name == DEVICES:
            self.devices.changed.connect(self._edited)
            return self.devices
        if name in OPTIONS:
            self.options[name] = _option_box(name)
            self.options[name].activated.connect(self._edited)
            return self.options[name]
        self.texts[name] = TextField(CHOICES[name].title, "automatic")
        self.texts[name].textEdited.connect(self._edited)
        return self.texts[name]

    def focus_chain(self) -> list[QWidget]:
        """What Tab goes through, from top to bottom; device boxes come and go, so ask again after those."""
        chain: list[QWidget] = []
        for name, row in self.rows.items():
            editors = self.devices.boxes.values() if name == DEVICES else [row.editor]
            chain += [*editors, row.why_button]
        return chain

    def add_below(self, name: str, widget: QWidget) -> None:
        """Put a widget under a line, over the whole width."""
        self._grid.addWidget(widget, self._names.index(name) * (ROWS_EACH + 1) + ROWS_EACH, 0, 1, 3)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._arrange()

    def _arrange(self) -> None:
        titles = [row.title.sizeHint().width() for row in self.rows.values()]
        is_narrow = self.width() < max(titles, default=0) * _LEAST_TITLES
        if is_narrow != self._is_narrow:
            self._is_narrow = is_narrow
            for row in self.rows.values():
                row.arrange(is_narrow)

    # --- values -------------------------------------------------------------------------------

    @property
    def base(self) -> LoadSettings:
        """What the form was given."""
        return self._base

    @property
    def chosen(self) -> Chosen:
        """What the form says now."""
        texts = {name: field.text() for name, field in self.texts.items()}
        options: dict[str, Option] = {name: _option_of(name, box) for name, box in self.options.items()}
        devices = self.devices.chosen if DEVICES in self.rows else None
        return read_choices(self._base, texts, options, devices)

    def show_settings(self, base: LoadSettings, known_devices: Sequence[str]) -> None:
        """Start from `base`. For the same file, what the user changed and didn't load yet stays."""
        kept = self._edits() if base.path == self._base.path else {}
        self._base = base
        self._write(base, known_devices)
        for name, edit in kept.items():
            if isinstance(edit, Option):
                _choose(name, self.options[name], edit)
            elif isinstance(edit, str):
                self.texts[name].setText(edit)
            else:
                self.devices.show_devices(known_devices, edit)
        self._show_faults()

    def undo(self) -> None:
        """Back to what the form was given."""
        self._write(self._base, tuple(self.devices.boxes))
        self._edited()

    def _edits(self) -> dict[str, str | Option | tuple[str, ...]]:
        """What differs from the base, by field."""
        edits: dict[str, str | Option | tuple[str, ...]] = {}
        for name, field in self.texts.items():
            if field.text() != text_of(name, self._base):
                edits[name] = field.text()
        for name, box in self.options.items():
            if _option_of(name, box) != getattr(self._base, name):
                edits[name] = _option_of(name, box)
        if set(self.devices.chosen) != set(self._base.devices):
            edits[DEVICES] = self.devices.chosen
        return edits

    @property
    def changed_names(self) -> list[str]:
        """Fields that differ from what the form was given."""
        return list(self._edits())

    def _write(self, settings: LoadSettings, known_devices: Sequence[str]) -> None:
        for name, field in self.texts.items():
            field.setText(text_of(name, settings))
        for name, box in self.options.items():
            _choose(name, box, getattr(settings, name))
        self.devices.show_devices(known_devices, settings.devices)
        self._show_faults()

    def _edited(self) -> None:
        self._show_faults()
        self.changed.emit()

    # --- words --------------------------------------------------------------------------------

    def show_states(self, states: Mapping[str, str]) -> None:
        """What is in force, by field."""
        for name, row in self.rows.items():
            row.show_state(states.get(name, ""))
        self._show_optional_rows()

    def show_refusal(self, words: str) -> None:
        """Why a load with sound values would be refused; memory is what it lacks."""
        if "ram_budget_bytes" in self.rows and not self.chosen.faults:
            self.rows["ram_budget_bytes"].show_fault(words)

    def _show_faults(self) -> None:
        faults = self.chosen.faults
        for name, row in self.rows.items():
            row.show_fault(faults.get(name, ""))
        self._show_optional_rows()

    def _show_optional_rows(self) -> None:
        routing = self.options.get("routing")
        is_resident = routing is not None and _option_of("routing", routing) is Routing.RESIDENT
        for names, is_wanted in ((ON_A_DEVICE, bool(self.devices.chosen)), (WITH_POOLS, is_resident)):
            for name in names:
                if name in self.rows:
                    self.rows[name].set_visible(is_wanted)


class _OptionBox(QComboBox):
    """Scrolling the page must not change what passes under the mouse."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


def _option_box(name: str) -> QComboBox:
    box = _OptionBox()
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(_LEAST_CHARACTERS)
    box.addItems([words for words, _ in OPTIONS[name]])
    return box


def _option_of(name: str, box: QComboBox) -> Option:
    """By place: Qt would make plain text of the value."""
    return OPTIONS[name][box.currentIndex()][1]


def _choose(name: str, box: QComboBox, value: Option) -> None:
    box.setCurrentIndex([each for _, each in OPTIONS[name]].index(value))
