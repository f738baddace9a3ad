"""A number that may be left open."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QDoubleSpinBox

from app.composition_guard import CompositionGuard
from app.settings.setting_words import NumberField


class NumberBox(QDoubleSpinBox):
    """Shows None as the field's words for it, one step below the least number."""

    def __init__(self, field: NumberField) -> None:
        super().__init__()
        self._field = field
        self._is_open_allowed = False
        self.setDecimals(field.decimals)
        self.setSingleStep(field.step)
        self.setRange(field.least, field.most)
        self.setAccessibleName(field.title)
        self.setAccessibleDescription(field.explanation)
        self.setToolTip(f"{field.explanation} ({field.range_words})")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        CompositionGuard(self)

    def show_value(self, value: float | None, is_open_allowed: bool) -> None:
        """Emits nothing. None needs `is_open_allowed`."""
        was_blocked = self.blockSignals(True)
        self._is_open_allowed = is_open_allowed and bool(self._field.unset_text)
        # Qt shows the words in place of the minimum
        self.setSpecialValueText(self._field.unset_text if self._is_open_allowed else "")
        self.setMinimum(self._field.least - self._is_open_allowed)
        self.setValue(self.minimum() if value is None else value)
        self.blockSignals(was_blocked)

    @property
    def chosen(self) -> float | int | None:
        """None while the words for it are shown; an int where the field has no decimals."""
        if self._is_open_allowed and self.value() < self._field.least:
            return None
        return round(self.value(), self._field.decimals) if self._field.decimals else round(self.value())

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scrolling the page must not change what passes under the mouse."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()
