"""The settings dialog: chat, appearance, devices, data."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QTabWidget, QVBoxLayout, QWidget

from app.dialog_buttons import dialog_buttons
from app.settings.appearance_page import AppearancePage
from app.settings.chat_page import ChatPage
from app.settings.data_page import DataPage
from app.settings.devices_page import DevicesPage
from app.settings.later_page import LaterPage

_WIDTH_CHARACTERS, _HEIGHT_LINES = 110, 36


class SettingsDialog(QDialog):
    """Every change takes effect at once, so there is only “Close”. `fault` carries a HistoryError."""

    fault = Signal(object)

    def __init__(
        self,
        chat: ChatPage,
        appearance: Callable[[], AppearancePage],
        devices: Callable[[], DevicesPage],
        data: Callable[[], DataPage],
        parent: QWidget,
    ) -> None:
        """All pages but the first are made when they are looked at."""
        super().__init__(parent)
        self.setWindowTitle("Settings")
        self.chat = chat
        self._appearance, self._devices, self._data = (
            LaterPage(appearance),
            LaterPage(devices),
            LaterPage(data),
        )
        self.pages = QTabWidget()
        self.pages.setAccessibleName("Pages of the settings")
        titles = "&Chat", "&Appearance", "D&evices", "&Data"
        pages: tuple[QWidget, ...] = chat, self._appearance, self._devices, self._data
        for title, page in zip(titles, pages, strict=True):
            self.pages.addTab(page, title)
        chat.presets.fault.connect(self.fault)
        buttons = dialog_buttons(self, QDialogButtonBox.StandardButton.Close)
        layout = QVBoxLayout(self)
        layout.addWidget(self.pages, 1)
        layout.addWidget(buttons)
        self.finished.connect(lambda _code: chat.presets.save_now())
        metrics, room = self.fontMetrics(), parent.screen().availableGeometry()
        self.resize(
            min(metrics.averageCharWidth() * _WIDTH_CHARACTERS, round(room.width() * 0.9)),
            min(metrics.lineSpacing() * _HEIGHT_LINES, round(room.height() * 0.9)),
        )

    @property
    def appearance(self) -> AppearancePage:
        return self._appearance.page

    @property
    def devices(self) -> DevicesPage:
        return self._devices.page

    @property
    def data(self) -> DataPage:
        return self._data.page
