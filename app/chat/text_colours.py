"""Colours and fonts of the transcript."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtGui import QColor, QFontDatabase, QPalette

LEAST_CONTRAST = 4.5


@dataclass(frozen=True, slots=True)
class TextColours:
    """Colours of the transcript, taken from a palette."""

    text: QColor
    muted: QColor
    code: QColor
    user: QColor
    line: QColor
    link: QColor
    fault: QColor
    is_dark: bool

    @classmethod
    def of(cls, palette: QPalette) -> TextColours:
        """Muted text and links keep a contrast of 4.5:1 on what they may stand on."""
        text = palette.color(QPalette.ColorRole.Text)
        base = palette.color(QPalette.ColorRole.Base)
        accent = palette.color(QPalette.ColorRole.Highlight)
        is_dark = text.lightness() > base.lightness()
        user = blend(base, accent, 0.17 if is_dark else 0.12)
        return cls(
            text=text,
            muted=readable(blend(base, text, 0.66), user),
            code=blend(base, text, 0.07),
            user=user,
            line=blend(base, text, 0.25),
            link=readable(palette.color(QPalette.ColorRole.Link), user),
            fault=QColor("#ff9d8c" if is_dark else "#b3261e"),
            is_dark=is_dark,
        )


def blend(first: QColor, second: QColor, share: float) -> QColor:
    """`share` of the second colour over the first."""

    def mix(a: int, b: int) -> int:
        return round(a + (b - a) * share)

    return QColor(
        mix(first.red(), second.red()), mix(first.green(), second.green()), mix(first.blue(), second.blue())
    )


def contrast(first: QColor, second: QColor) -> float:
    """Ratio of the relative luminances as WCAG defines it, 1 to 21."""
    lighter, darker = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def readable(colour: QColor, background: QColor) -> QColor:
    """The colour, moved towards black or white until it can be read on the background."""
    goal = QColor("white" if _luminance(background) < 0.18 else "black")
    for step in range(11):
        moved = blend(colour, goal, step / 10)
        if contrast(moved, background) >= LEAST_CONTRAST:
            return moved
    return goal


def fixed_font_families() -> list[str]:
    """The system's fixed-width font first."""
    return [QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont).family(), "monospace"]


def _luminance(colour: QColor) -> float:
    def linear(value: float) -> float:
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(each) for each in (colour.redF(), colour.greenF(), colour.blueF()))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
