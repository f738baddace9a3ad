"""One line of a form for load settings: title, editor, “why?”, what is in force, what is wrong."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QPalette
from PySide6.QtWidgets import QGridLayout, QLabel, QToolButton, QWidget

from app.load_explanations import Choice

_TITLE, _EDITOR, _WHY = range(3)
ROWS_EACH = 5


class LoadRow:
    """Takes `ROWS_EACH` rows of the grid from `first_row` on."""

    def __init__(self, choice: Choice, editor: QWidget, grid: QGridLayout, first_row: int) -> None:
        self._choice, self._editor = choice, editor
        self._title, self._why, self._state, self._fault = QLabel(choice.title), *(_words() for _ in range(3))
        self._title.setBuddy(editor)
        self._why.setText(f"{choice.effect} {choice.why}")
        self._why.setVisible(False)
        self._ask = _why_button(choice.title)
        self._ask.toggled.connect(self._why.setVisible)
        self._state.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        for label, name in ((self._state, "state"), (self._fault, "fault"), (self._why, "explanation")):
            label.setAccessibleName(f"{choice.title}: {name}")
        editor.setAccessibleName(choice.title)
        editor.setToolTip(choice.effect)
        self._grid, self._first_row = grid, first_row
        self.arrange(is_narrow=False)
        self.show_state("")
        self.show_fault("")

    def arrange(self, is_narrow: bool) -> None:
        """The editor beside its title, or below it where there is no room for both."""
        row = self._first_row
        places = (
            (self._title, row, _TITLE, 2 if is_narrow else 1),
            (self._editor, row + is_narrow, _TITLE if is_narrow else _EDITOR, 3 if is_narrow else 1),
            (self._ask, row, _WHY, 1),
            (self._fault, row + 2, _TITLE if is_narrow else _EDITOR, 3 if is_narrow else 2),
            (self._state, row + 3, _TITLE if is_narrow else _EDITOR, 3 if is_narrow else 2),
            (self._why, row + 4, _TITLE, 3),
        )
        for widget, at_row, column, span in places:
            self._grid.addWidget(widget, at_row, column, 1, span)

    @property
    def title(self) -> QLabel:
        return self._title

    @property
    def editor(self) -> QWidget:
        return self._editor

    @property
    def state(self) -> str:
        return self._state.text()

    @property
    def fault(self) -> str:
        return self._fault.text()

    @property
    def why(self) -> str:
        """The explanation, if it shows; otherwise empty."""
        return "" if self._why.isHidden() else self._why.text()

    @property
    def why_button(self) -> QToolButton:
        return self._ask

    def show_state(self, text: str) -> None:
        """What is in force now, and whether that needs a reload."""
        if self._state.text() != text:
            self._state.setText(text)
            self._describe()
        self._state.setVisible(bool(text))

    def show_fault(self, text: str) -> None:
        """What is wrong with the value; empty for nothing."""
        shown = f"⚠ {text}" if text else ""
        if self._fault.text() != shown:
            self._fault.setText(shown)
            self._describe()
            if text and self._editor.hasFocus():
                QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self._editor, text))
        self._fault.setVisible(bool(text))

    def set_visible(self, is_visible: bool) -> None:
        """Show or hide the whole line."""
        for widget in (self._title, self._editor, self._ask):
            widget.setVisible(is_visible)
        self._state.setVisible(is_visible and bool(self._state.text()))
        self._fault.setVisible(is_visible and bool(self._fault.text()))
        self._why.setVisible(is_visible and self._ask.isChecked())

    def _describe(self) -> None:
        parts = self._choice.effect, self._state.text(), self._fault.text()
        self._editor.setAccessibleDescription(" ".join(part for part in parts if part))


def _words() -> QLabel:
    label = QLabel()
    label.setWordWrap(True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label


def _why_button(title: str) -> QToolButton:
    button = QToolButton()
    button.setText("?")
    button.setCheckable(True)
    button.setAutoRaise(True)
    button.setAccessibleName(f"Why is this so: {title}")
    button.setToolTip("Why is this so?")
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button
