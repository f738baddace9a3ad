"""The phases of one answer, one below the other, each beginning where the one before it ended."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor
from PySide6.QtWidgets import QWidget

from app.inspector.display_words import PHASE_WORDS, phase_values_ns, prefill_waits_ns
from app.inspector.plot_frame import PlotFrame
from app.inspector.plot_theme import PlotColours, apply_axes_theme
from engine.events import TtftPhases

_PREFILL_PLACE = list(PHASE_WORDS).index("prefill_ns")


class TtftWaterfall(PlotFrame):
    """Thick bars: this answer; thin bars below them: the answer it is compared with. One axis for both."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._plot = pg.PlotWidget()
        super().__init__(self._plot, 12, parent)
        self._plot.setAccessibleName("Phases of one answer, one after the other")
        self._now, self._before, self._hatch, self._cross = (
            pg.BarGraphItem(x0=[], y=[], width=[], height=0.5) for _ in range(4)
        )
        item = self._plot.getPlotItem()
        item.setMenuEnabled(False)
        item.hideButtons()
        item.setMouseEnabled(x=False, y=False)
        item.setLabel("bottom", "Since Enter", units="s")
        item.getViewBox().invertY(True)
        item.getAxis("left").setTicks([list(enumerate(PHASE_WORDS.values()))])
        item.setYRange(-0.6, len(PHASE_WORDS) - 0.4, padding=0)
        for bars in (self._now, self._before, self._hatch, self._cross):
            item.addItem(bars)
        self.update_theme()

    def draw(self, now: TtftPhases, before: TtftPhases | None) -> None:
        """Show one answer, and another to compare with."""
        starts, widths = waterfall_seconds(now)
        places = np.arange(len(PHASE_WORDS), dtype=np.float64)
        self._now.setOpts(x0=starts, width=widths, y=places - 0.1, height=0.5)
        begin, place = float(starts[_PREFILL_PLACE]), _PREFILL_PLACE - 0.1
        for bars, wait_ns in zip((self._hatch, self._cross), prefill_waits_ns(now), strict=True):
            bars.setOpts(x0=[begin], width=[wait_ns / 1e9], y=[place], height=0.5)
            begin += wait_ns / 1e9
        total_ns = max(now.total_ns, before.total_ns if before else 0)
        self._before.setOpts(x0=[], width=[], y=[], height=0.15)
        if before is not None:
            starts, widths = waterfall_seconds(before)
            self._before.setOpts(x0=starts, width=widths, y=places + 0.28, height=0.15)
        self._plot.setXRange(0, max(1e-3, total_ns / 1e9 * 1.03), padding=0)

    def apply_theme(self, colours: PlotColours) -> None:
        apply_axes_theme(self._plot.getPlotItem(), self.palette(), self.font())
        self._now.setOpts(brushes=[QColor(colour) for colour in colours.phases], pen=None)
        self._before.setOpts(brush=self.palette().placeholderText().color(), pen=None)
        self._hatch.setOpts(brush=QBrush(QColor("black"), Qt.BrushStyle.BDiagPattern), pen=None)
        self._cross.setOpts(brush=QBrush(QColor("black"), Qt.BrushStyle.DiagCrossPattern), pen=None)


def waterfall_seconds(ttft: TtftPhases) -> tuple[np.ndarray, np.ndarray]:
    """Start and length of each phase of PHASE_WORDS, float64 seconds since Enter."""
    lengths = np.array(phase_values_ns(ttft), np.float64) / 1e9
    return lengths.cumsum() - lengths, lengths
