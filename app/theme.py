"""Light and dark palettes for the Fusion style, and one text size for everything."""

from __future__ import annotations

from enum import StrEnum

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

TEXT_SIZES_PERCENT = (75, 90, 100, 110, 125, 150, 175, 200, 250, 300)
_DEFAULT_PERCENT = 100
_LEAST_POINTS = 10.0

_ROLES = (
    "Window", "WindowText", "Base", "AlternateBase", "Text", "Button", "ButtonText", "BrightText",
    "Light", "Midlight", "Mid", "Dark", "Shadow", "Highlight", "HighlightedText", "Link", "LinkVisited",
    "ToolTipBase", "ToolTipText", "PlaceholderText", "Accent",
)  # fmt: skip
_LIGHT = (
    "#f3f2f0", "#1e1d1b", "#ffffff", "#f7f6f4", "#1e1d1b", "#e9e7e4", "#1e1d1b", "#ffffff",
    "#ffffff", "#f4f3f1", "#c3c0bb", "#a19d97", "#6b6862", "#b4480f", "#ffffff", "#96390a", "#7a4a8c",
    "#ffffff", "#1e1d1b", "#6a6761", "#b4480f",
)  # fmt: skip
_DARK = (
    "#22211f", "#eceae6", "#191817", "#262523", "#eceae6", "#33312e", "#eceae6", "#ffffff",
    "#4a4743", "#3d3b37", "#2b2927", "#171614", "#0c0b0b", "#e07b39", "#1a0f08", "#f09a5e", "#c79ad6",
    "#33312e", "#eceae6", "#a19d96", "#e07b39",
)  # fmt: skip
_DISABLED_ROLES = (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text, QPalette.ColorRole.ButtonText)


class Scheme(StrEnum):
    """What the user chose."""

    AUTO = "auto"
    LIGHT = "light"
    DARK = "dark"


_QT_SCHEMES = {
    Scheme.AUTO: Qt.ColorScheme.Unknown,
    Scheme.LIGHT: Qt.ColorScheme.Light,
    Scheme.DARK: Qt.ColorScheme.Dark,
}


def palette_of(is_dark: bool) -> QPalette:
    """All roles spelled out, so that every system shows the same contrast."""
    palette = QPalette()
    for name, colour in zip(_ROLES, _DARK if is_dark else _LIGHT, strict=True):
        palette.setColor(QPalette.ColorRole[name], QColor(colour))
    faded = palette.color(QPalette.ColorRole.PlaceholderText)
    for role in _DISABLED_ROLES:
        palette.setColor(QPalette.ColorGroup.Disabled, role, faded)
    return palette


class Theme(QObject):
    """Applies scheme and text size to the whole program; follows the system in AUTO. GUI thread.

    `changed` after the user's choice of scheme or size is in effect.
    """

    changed = Signal()

    def __init__(self, application: QApplication) -> None:
        super().__init__(application)
        self.scheme = Scheme.AUTO
        self.text_percent = _DEFAULT_PERCENT
        self._application = application
        self._points = max(application.font().pointSizeF(), _LEAST_POINTS)
        application.setStyle("Fusion")
        application.styleHints().colorSchemeChanged.connect(lambda _scheme: self._apply_palette())
        self.set_text_percent(_DEFAULT_PERCENT)
        self.set_scheme(Scheme.AUTO)

    def set_scheme(self, scheme: Scheme) -> None:
        """Light, dark or as the system says."""
        self.scheme = scheme
        # also colours what the system draws: title bars, native dialogs
        self._application.styleHints().setColorScheme(_QT_SCHEMES[scheme])
        self._apply_palette()
        self.changed.emit()

    def set_text_percent(self, percent: int) -> None:
        """Size of all text, in percent of the system's."""
        least, most = TEXT_SIZES_PERCENT[0], TEXT_SIZES_PERCENT[-1]
        self.text_percent = min(max(percent, least), most)
        font = self._application.font()
        font.setPointSizeF(self._points * self.text_percent / 100)
        self._application.setFont(font)
        self.changed.emit()

    def step_text(self, steps: int) -> None:
        """The next larger (1) or smaller (-1) size."""
        nearest = min(TEXT_SIZES_PERCENT, key=lambda percent: abs(percent - self.text_percent))
        place = TEXT_SIZES_PERCENT.index(nearest) + steps
        self.set_text_percent(TEXT_SIZES_PERCENT[min(max(place, 0), len(TEXT_SIZES_PERCENT) - 1)])

    @property
    def is_dark(self) -> bool:
        """Whether the dark palette is in use."""
        if self.scheme is Scheme.AUTO:
            return self._application.styleHints().colorScheme() == Qt.ColorScheme.Dark
        return self.scheme is Scheme.DARK

    def _apply_palette(self) -> None:
        self._application.setPalette(palette_of(self.is_dark))
