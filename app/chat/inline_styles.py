"""Character formats of running text, made once per combination."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QUrl
from PySide6.QtGui import QFont, QTextCharFormat

from app.chat.block_pen import IS_OWN, SOURCE
from app.chat.text_colours import TextColours, fixed_font_families

_SAFE_SCHEMES = ("http", "https", "mailto")


@dataclass(frozen=True, slots=True)
class Look:
    """How a piece of running text looks."""

    is_bold: bool = False
    is_italic: bool = False
    is_struck: bool = False
    is_code: bool = False
    is_muted: bool = False
    size_step: int = 0
    address: str = ""


PLAIN = Look()


class InlineStyles:
    """The formats for one set of colours."""

    def __init__(self, colours: TextColours) -> None:
        self.colours = colours
        self._made: dict[Look, QTextCharFormat] = {}

    def of(self, look: Look) -> QTextCharFormat:
        """Not to be changed by the caller; copy it first."""
        style = self._made.get(look)
        if style is None:
            style = self._made[look] = self._make(look)
        return style

    def own_link(self, target: str) -> QTextCharFormat:
        """A link of the program's own, beside the text and smaller."""
        style = self.own_words()
        style.setForeground(self.colours.link)
        style.setAnchor(True)
        style.setAnchorHref(target)
        return style

    def own_words(self) -> QTextCharFormat:
        """Words of the program's own."""
        style = QTextCharFormat(self.of(Look(is_muted=True, size_step=-1)))
        style.setProperty(IS_OWN, True)
        return style

    def code(self) -> QTextCharFormat:
        """Text of code blocks."""
        style = QTextCharFormat()
        style.setForeground(self.colours.text)
        style.setFontFamilies(fixed_font_families())
        style.setFontFixedPitch(True)
        return style

    def formula_source(self, source: str) -> QTextCharFormat:
        """A formula that is not drawn (yet); copied with its signs."""
        style = QTextCharFormat(self.of(Look(is_code=True)))
        style.setProperty(SOURCE, source)
        return style

    def _make(self, look: Look) -> QTextCharFormat:
        style = self.code() if look.is_code else QTextCharFormat()
        style.setForeground(self.colours.muted if look.is_muted else self.colours.text)
        if look.is_code:
            style.setBackground(self.colours.code)
        if look.is_bold:
            style.setFontWeight(QFont.Weight.Bold)
        if look.is_italic:
            style.setFontItalic(True)
        if look.is_struck:
            style.setFontStrikeOut(True)
        if look.size_step:
            style.setProperty(QTextCharFormat.Property.FontSizeAdjustment, look.size_step)
        if look.address:
            style.setAnchor(True)
            style.setAnchorHref(look.address)
            style.setForeground(self.colours.link)
            style.setFontUnderline(True)
            style.setToolTip(look.address)
        return style


def web_address(address: str) -> str:
    """The address if a browser or mail program may open it, else empty."""
    return address if QUrl(address).scheme().lower() in _SAFE_SCHEMES else ""
