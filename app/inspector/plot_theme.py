"""Colours and fonts of the plots, from the window's palette; safe for colour-blind eyes (Okabe-Ito)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyqtgraph as pg
from PySide6.QtGui import QFont, QPalette


@dataclass(frozen=True, slots=True)
class PlotColours:
    """Named colours as #rrggbb for one brightness of the window.

    `tiers`: by value of Tier. `moves`: loaded, promoted, demoted, evicted. `phases`: as PHASE_WORDS.
    """

    prefill: str
    decode: str
    disk: str
    wait: str
    link: str
    compute: str
    moves: tuple[str, ...]
    tiers: tuple[str, ...]
    phases: tuple[str, ...]


_LIGHT = PlotColours(
    prefill="#0072b2",
    decode="#d55e00",
    disk="#007a5a",
    wait="#a8387f",
    link="#b07800",
    compute="#0072b2",
    moves=("#00a86b", "#f0e442", "#7f7f00", "#000000"),
    tiers=("#d0d0d0", "#e69f00", "#0072b2", "#d55e00", "#a8387f"),
    phases=("#8c8c8c", "#0072b2", "#56b4e9", "#e69f00", "#c4b000", "#009e73", "#d55e00", "#a8387f"),
)
_DARK = PlotColours(
    prefill="#56b4e9",
    decode="#f0a03c",
    disk="#2fc79a",
    wait="#e58cc0",
    link="#e6c200",
    compute="#56b4e9",
    moves=("#2fd996", "#fff35c", "#b5a800", "#ffffff"),
    tiers=("#4a4a4a", "#e69f00", "#56b4e9", "#f07f3c", "#f0a6d2"),
    phases=("#9a9a9a", "#3a94d0", "#8fd0f5", "#e69f00", "#f0e442", "#1fb58a", "#f07f3c", "#e58cc0"),
)


def is_dark(palette: QPalette) -> bool:
    """Whether text is lighter than what it stands on."""
    text, base = (palette.color(role) for role in (QPalette.ColorRole.Text, QPalette.ColorRole.Base))
    return text.lightness() > base.lightness()


def plot_colours(palette: QPalette) -> PlotColours:
    """The colour set that is legible on this palette's base."""
    return _DARK if is_dark(palette) else _LIGHT


def apply_axes_theme(
    plot_item: pg.PlotItem, palette: QPalette, font: QFont, sides: Sequence[str] = ("left", "bottom")
) -> None:
    """Colour and size the axes of one pyqtgraph PlotItem."""
    text = palette.color(QPalette.ColorRole.Text)
    for side in sides:
        axis = plot_item.getAxis(side)
        axis.setPen(text)
        axis.setTextPen(text)
        axis.setTickFont(font)
        axis.label.setFont(font)
        axis.showLabel(axis.label.isVisible())


def swatches_html(entries: Sequence[tuple[str, str]], sign: str = "■") -> str:
    """A legend in words: (colour, text) pairs as rich text that wraps."""
    return "&nbsp;&nbsp; ".join(
        f'<span style="color:{colour}">{sign}</span>&nbsp;{text.replace(" ", "&nbsp;")}'
        for colour, text in entries
    )
