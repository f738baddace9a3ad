"""The page for colours and the size of text."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QFormLayout,
    QGroupBox,
    QLabel,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from app.theme import TEXT_SIZES_PERCENT, Scheme, Theme

SCHEME_WORDS = {Scheme.AUTO: "As the system", Scheme.LIGHT: "Light", Scheme.DARK: "Dark"}
_SAMPLE = "The quick brown fox, 素早い茶色の狐, 敏捷的棕色狐狸"


class AppearancePage(QWidget):
    """Each change shows at once; `on_change` then keeps it."""

    def __init__(self, theme: Theme, on_change: Callable[[], None]) -> None:
        super().__init__()
        self._theme, self._on_change = theme, on_change
        self.schemes = {scheme: QRadioButton(words) for scheme, words in SCHEME_WORDS.items()}
        self.sizes = QComboBox()
        self.sizes.setAccessibleName("Text size")
        for percent in TEXT_SIZES_PERCENT:
            self.sizes.addItem(f"{percent} %", percent)
        self._build_layout()
        self.show_theme()
        self._group.idToggled.connect(self._scheme_chosen)
        self.sizes.activated.connect(self._size_chosen)
        theme.changed.connect(self.show_theme)

    def _build_layout(self) -> None:
        colours = QGroupBox("Colours")
        inside = QVBoxLayout(colours)
        self._group = QButtonGroup(self)
        for number, button in enumerate(self.schemes.values()):
            self._group.addButton(button, number)
            inside.addWidget(button)
        sample = QLabel(_SAMPLE)
        sample.setWordWrap(True)
        form = QFormLayout()
        form.addRow("&Text size", self.sizes)
        words = QLabel("Text, code and plots grow together. Ctrl++ and Ctrl+- do the same.")
        words.setWordWrap(True)
        layout = QVBoxLayout(self)
        layout.addWidget(colours)
        layout.addLayout(form)
        layout.addWidget(words)
        layout.addWidget(sample)
        layout.addStretch(1)

    def show_theme(self) -> None:
        """Show what is in use, also when a menu changed it."""
        self.schemes[self._theme.scheme].setChecked(True)
        place = self.sizes.findData(self._theme.text_percent)
        self.sizes.setCurrentIndex(place)

    def _scheme_chosen(self, number: int, is_chosen: bool) -> None:
        scheme = list(self.schemes)[number]
        if is_chosen and scheme is not self._theme.scheme:
            self._theme.set_scheme(scheme)
            self._on_change()

    def _size_chosen(self, _place: int) -> None:
        self._theme.set_text_percent(self.sizes.currentData())
        self._on_change()
