"""Size, panels, colours and text size of the window, kept over a restart."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QSettings
from PySide6.QtWidgets import QMainWindow

from app.theme import Scheme, Theme

_VERSION = 1  # raise it when docks or tool bars change
_GEOMETRY, _STATE = "window/geometry", "window/state"
_SCHEME, _TEXT = "look/scheme", "look/text_percent"


class WindowMemory:
    """Reads and writes the settings file; values that make no sense are ignored."""

    def __init__(self, settings: QSettings) -> None:
        self._settings = settings

    def restore_look(self, theme: Theme) -> None:
        stored = str(self._settings.value(_SCHEME, Scheme.AUTO.value))
        theme.set_scheme(Scheme(stored) if stored in set(Scheme) else Scheme.AUTO)
        percent = str(self._settings.value(_TEXT, "100"))
        theme.set_text_percent(int(percent) if percent.isascii() and percent.isdigit() else 100)

    def keep_look(self, theme: Theme) -> None:
        self._settings.setValue(_SCHEME, theme.scheme.value)
        self._settings.setValue(_TEXT, theme.text_percent)

    def restore_window(self, window: QMainWindow) -> bool:
        """False if nothing usable was kept; Qt itself moves a window back onto a screen that exists."""
        geometry, state = self._settings.value(_GEOMETRY), self._settings.value(_STATE)
        if not isinstance(geometry, QByteArray) or not window.restoreGeometry(geometry):
            return False
        return isinstance(state, QByteArray) and window.restoreState(state, _VERSION)

    def keep_window(self, window: QMainWindow) -> None:
        self._settings.setValue(_GEOMETRY, window.saveGeometry())
        self._settings.setValue(_STATE, window.saveState(_VERSION))
        self._settings.sync()
