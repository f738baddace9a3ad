"""A box to tick for each device that is known."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QCheckBox, QLabel, QSizePolicy, QVBoxLayout, QWidget

_NONE = "This machine’s processor and RAM only."


class _DeviceBox(QCheckBox):
    """Shortens a long address in its middle, so that it doesn't widen what it stands in."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self._device = device
        self.setAccessibleName(device)
        self.setToolTip(device)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._shorten()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._shorten()

    def _shorten(self) -> None:
        sign = self.sizeHint().width() - self.fontMetrics().horizontalAdvance(self.text())
        room = self.width() - sign
        shown = self.fontMetrics().elidedText(self._device, Qt.TextElideMode.ElideMiddle, room)
        self.setText(shown.replace("&", "&&"))


class DeviceChecks(QWidget):
    """`changed` when the user ticks or unticks one."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._boxes: dict[str, QCheckBox] = {}
        self._none = QLabel(_NONE)
        self._none.setWordWrap(True)
        self._layout.addWidget(self._none)

    @property
    def chosen(self) -> tuple[str, ...]:
        return tuple(device for device, box in self._boxes.items() if box.isChecked())

    @property
    def boxes(self) -> dict[str, QCheckBox]:
        """By the name of the device."""
        return dict(self._boxes)

    def show_devices(self, known: Sequence[str], chosen: Sequence[str]) -> None:
        """Offer `known` and whatever else is chosen. Emits nothing."""
        wanted = list(dict.fromkeys([*known, *chosen]))
        for device in [each for each in self._boxes if each not in wanted]:
            self._boxes.pop(device).deleteLater()
        for device in wanted:
            if device not in self._boxes:
                self._boxes[device] = self._new_box(device)
            box = self._boxes[device]
            was_blocked = box.blockSignals(True)
            box.setChecked(device in chosen)
            box.blockSignals(was_blocked)
        self._none.setVisible(not wanted)

    def _new_box(self, device: str) -> QCheckBox:
        box = _DeviceBox(device)
        box.toggled.connect(self.changed)
        self._layout.addWidget(box)
        return box
