"""The form for one level of settings: each line says whether it is changed, and takes the change back."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from app.composition_guard import CompositionGuard
from app.history.records import ChatSettings
from app.settings.number_box import NumberBox
from app.settings.setting_levels import changed_names, differences, merged
from app.settings.setting_words import NUMBER_FIELDS, SYSTEM_PROMPT_WORDS

_PROMPT_LINES = 5
_PROMPT = "system_prompt"
_TITLE, _EDITOR, _RESET = range(3)


class SettingsForm(QWidget):
    """Shows a level over a lower one; `changed` after each change by the user."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._own, self._lower = ChatSettings(), ChatSettings()
        self._lower_words = ""
        self.prompt = _prompt_field()
        self.numbers = {field.name: NumberBox(field) for field in NUMBER_FIELDS}
        self.marks: dict[str, QLabel] = {}
        self.resets: dict[str, QPushButton] = {}
        self.reset_all = QPushButton("Reset all")
        self._build_layout()
        self.prompt.textChanged.connect(self._edited)
        for box in self.numbers.values():
            box.valueChanged.connect(lambda _value: self._edited())
        self.reset_all.clicked.connect(self._reset_all)

    # --- building -----------------------------------------------------------------------------

    def _build_layout(self) -> None:
        grid = QGridLayout()
        grid.setColumnStretch(_EDITOR, 1)
        grid.setVerticalSpacing(4)
        self._add_line(grid, 0, _PROMPT, "&System prompt", self.prompt, SYSTEM_PROMPT_WORDS)
        for row, field in enumerate(NUMBER_FIELDS, start=1):
            words = f"{field.explanation} From {field.range_words}."
            self._add_line(grid, 2 * row, field.name, field.title, self.numbers[field.name], words)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(grid)
        layout.addWidget(self.reset_all, 0, Qt.AlignmentFlag.AlignRight)
        layout.addStretch(1)

    def _add_line(
        self, grid: QGridLayout, row: int, name: str, title: str, editor: QWidget, words: str
    ) -> None:
        label, explanation, mark = QLabel(title), QLabel(words), QLabel()
        label.setBuddy(editor)
        explanation.setWordWrap(True)
        explanation.setForegroundRole(explanation.palette().ColorRole.PlaceholderText)
        reset = QPushButton("Reset")
        plain = title.replace("&", "")
        reset.setAccessibleName(f"Reset {plain.lower()}")
        reset.setAutoDefault(False)
        reset.clicked.connect(lambda: self._reset(name))
        mark.setAccessibleName(f"{plain}: whether it is changed")
        self.marks[name], self.resets[name] = mark, reset
        # the editor fills its column, the others stand beside it
        beside = Qt.AlignmentFlag.AlignTop if editor is self.prompt else Qt.AlignmentFlag.AlignVCenter
        grid.addWidget(label, row, _TITLE, beside)
        grid.addWidget(editor, row, _EDITOR)
        grid.addWidget(reset, row, _RESET, beside)
        # below the title, where it takes no width from the editor
        grid.addWidget(mark, row + 1, _TITLE, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(explanation, row + 1, _EDITOR, 1, 2)

    # --- values -------------------------------------------------------------------------------

    def show_level(self, own: ChatSettings, lower: ChatSettings, lower_words: str) -> None:
        """Show `own` over `lower`, which `lower_words` names (“the preset”). Emits nothing."""
        self._own, self._lower, self._lower_words = own, lower, lower_words
        self._show_values()

    @property
    def settings(self) -> ChatSettings:
        """The level as it is now: only what differs from the lower one."""
        return self._own

    def _show_values(self) -> None:
        shown = merged(self._own, self._lower)
        if self.prompt.toPlainText() != shown.system_prompt:
            was_blocked = self.prompt.blockSignals(True)
            self.prompt.setPlainText(shown.system_prompt)
            self.prompt.blockSignals(was_blocked)
        # what applies while the field is empty
        self.prompt.setPlaceholderText(self._lower.system_prompt or "None")
        for name, box in self.numbers.items():
            box.show_value(getattr(shown, name), is_open_allowed=getattr(self._lower, name) is None)
        self._show_marks()

    def _show_marks(self) -> None:
        changed = changed_names(self._own)
        for name, mark in self.marks.items():
            is_changed = name in changed
            mark.setText("● changed" if is_changed else "")
            mark.setToolTip(f"Differs from {self._lower_words}." if is_changed else "")
            self.resets[name].setEnabled(is_changed)
            self.resets[name].setToolTip(f"Back to {self._lower_words}")
        self.reset_all.setEnabled(bool(changed))

    def _edited(self) -> None:
        chosen = {name: box.chosen for name, box in self.numbers.items()}
        wanted = ChatSettings(system_prompt=self.prompt.toPlainText(), **chosen)  # type: ignore[arg-type] # int where the field is one
        self._take(differences(wanted, self._lower))

    def _take(self, own: ChatSettings) -> None:
        if own != self._own:
            self._own = own
            self._show_marks()
            self.changed.emit()

    def _reset(self, name: str) -> None:
        self._take(replace(self._own, **{name: getattr(ChatSettings(), name)}))
        self._show_values()
        editor = self.prompt if name == _PROMPT else self.numbers[name]
        # the button is disabled now; the focus would be lost
        editor.setFocus()

    def _reset_all(self) -> None:
        self._take(ChatSettings())
        self._show_values()
        self.prompt.setFocus()


def _prompt_field() -> QPlainTextEdit:
    field = QPlainTextEdit()
    field.setAccessibleName("System prompt")
    field.setAccessibleDescription(SYSTEM_PROMPT_WORDS)
    field.setTabChangesFocus(True)
    margins = 2 * (field.frameWidth() + round(field.document().documentMargin()))
    field.setFixedHeight(field.fontMetrics().lineSpacing() * _PROMPT_LINES + margins)
    CompositionGuard(field)
    return field
