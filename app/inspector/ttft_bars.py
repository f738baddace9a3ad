"""Stacked horizontal bars of the phases before the first token, newest answer on top."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from pyqtgraph.GraphicsScene.mouseEvents import MouseClickEvent
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QBrush, QColor
from PySide6.QtWidgets import QWidget

from app.inspector.display_words import PHASE_WORDS, phase_values_ns, prefill_waits_ns
from app.inspector.plot_frame import PlotFrame
from app.inspector.plot_theme import PlotColours, apply_axes_theme
from app.telemetry_store import AnswerTiming

FEWEST_PLACES = 4  # one bar alone would fill the plot
_PREFILL_PLACE = list(PHASE_WORDS).index("prefill_ns")


class TtftBars(PlotFrame):
    """One bar per answer; in prefill, hatched is the wait for the disk, crossed that for links to devices.

    A click chooses an answer.
    """

    answer_chosen = Signal(int)  # its number

    def __init__(self, parent: QWidget | None = None) -> None:
        self._plot = pg.PlotWidget()
        super().__init__(self._plot, 10, parent)
        self._plot.setAccessibleName("Time to first token of the last answers, by phase")
        self._bars = [_empty_bars() for _ in PHASE_WORDS]
        self._hatch, self._cross = _empty_bars(), _empty_bars()
        self._numbers: tuple[int, ...] = ()
        self._build_plot()
        self.update_theme()

    def _build_plot(self) -> None:
        item = self._plot.getPlotItem()
        item.setMenuEnabled(False)
        item.hideButtons()
        item.setMouseEnabled(x=False, y=False)
        item.setLabel("bottom", "Time to first token", units="s")
        item.setLabel("left", "Answer")
        item.getViewBox().invertY(True)
        for bars in (*self._bars, self._hatch, self._cross):
            item.addItem(bars)
        self._plot.scene().sigMouseClicked.connect(self._clicked)

    def _clicked(self, event: MouseClickEvent) -> None:
        place = round(self._plot.getPlotItem().getViewBox().mapSceneToView(event.scenePos()).y())
        if 0 <= place < len(self._numbers):
            self.answer_chosen.emit(self._numbers[place])

    def draw(self, answers: Sequence[AnswerTiming]) -> None:
        """Show `answers`, the first on top; at least one."""
        seconds = np.array([phase_values_ns(answer.ttft) for answer in answers]) / 1e9
        ends = seconds.cumsum(axis=1)
        places = np.arange(len(answers))
        self._numbers = tuple(answer.number for answer in answers)
        for phase, bars in enumerate(self._bars):
            bars.setOpts(x0=ends[:, phase] - seconds[:, phase], width=seconds[:, phase], y=places, height=0.7)
        waits = np.array([prefill_waits_ns(answer.ttft) for answer in answers]) / 1e9
        prefill_start = ends[:, _PREFILL_PLACE] - seconds[:, _PREFILL_PLACE]
        self._hatch.setOpts(x0=prefill_start, width=waits[:, 0], y=places, height=0.7)
        self._cross.setOpts(x0=prefill_start + waits[:, 0], width=waits[:, 1], y=places, height=0.7)
        item = self._plot.getPlotItem()
        item.setXRange(0, max(1e-3, float(ends.max()) * 1.03), padding=0)
        item.setYRange(-0.5, max(FEWEST_PLACES, len(answers)) - 0.5, padding=0)
        labels = [(float(i), f"#{answer.number}") for i, answer in enumerate(answers)]
        item.getAxis("left").setTicks([labels])

    def apply_theme(self, colours: PlotColours) -> None:
        apply_axes_theme(self._plot.getPlotItem(), self.palette(), self.font())
        for bars, colour in zip(self._bars, colours.phases, strict=True):
            bars.setOpts(brush=QColor(colour), pen=None)
        self._hatch.setOpts(brush=QBrush(QColor("black"), Qt.BrushStyle.BDiagPattern), pen=None)
        self._cross.setOpts(brush=QBrush(QColor("black"), Qt.BrushStyle.DiagCrossPattern), pen=None)


def _empty_bars() -> pg.BarGraphItem:
    return pg.BarGraphItem(x0=[], y=[], width=[], height=0.7)
