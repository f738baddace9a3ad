"""What the first tokens of the last answers waited for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QBrush, QColor
from PySide6.QtWidgets import QLabel, QSizePolicy, QVBoxLayout, QWidget

from app.inspector.figures import milliseconds_text
from app.inspector.notice_page import NoticePage
from app.inspector.plot_theme import (
    PHASE_WORDS,
    apply_axes_theme,
    base_colour,
    phase_values_ns,
    plot_colours,
)
from app.telemetry_store import AnswerTiming, TelemetryStore

ANSWERS_SHOWN = 8
FEWEST_PLACES = 4  # one bar alone would fill the plot
_PREFILL_PLACE = list(PHASE_WORDS).index("prefill_ns")


class TtftView(NoticePage):
    """Stacked horizontal bars, newest answer on top, and the newest answer's phases in milliseconds."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._answers: tuple[AnswerTiming, ...] = ()
        self._plot = pg.PlotWidget()
        self._plot.setAccessibleName("Time to first token of the last answers, by phase")
        self._bars = [_empty_bars() for _ in PHASE_WORDS]
        self._hatch = _empty_bars()
        self._legend = QLabel()
        self._legend.setWordWrap(True)
        self._legend.setTextFormat(Qt.TextFormat.RichText)
        self._legend.setAccessibleName("Phases of the newest answer in milliseconds")
        self._build_plot()
        layout = QVBoxLayout(self.content)
        layout.addWidget(self._plot, 1)
        self._plot.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
        layout.addWidget(self._legend)
        self._apply_theme()

    def _build_plot(self) -> None:
        item = self._plot.getPlotItem()
        item.setMenuEnabled(False)
        item.hideButtons()
        item.setMouseEnabled(x=False, y=False)
        item.setLabel("bottom", "Time to first token", units="s")
        item.setLabel("left", "Answer")
        item.getViewBox().invertY(True)
        for bars in (*self._bars, self._hatch):
            item.addItem(bars)

    @property
    def legend_html(self) -> str:
        return self._legend.text()

    def draw(self, store: TelemetryStore) -> None:
        """Show the newest answers."""
        self._answers = tuple(store.answers)[-ANSWERS_SHOWN:][::-1]
        if not self._answers:
            self.show_notice("No answer yet. Each answer adds a bar: what its first token waited for.")
            return
        self.show_notice("")
        self._draw_bars()
        self._show_legend()

    def _draw_bars(self) -> None:
        seconds = np.array([phase_values_ns(answer.ttft) for answer in self._answers]) / 1e9
        ends = seconds.cumsum(axis=1)
        places = np.arange(len(self._answers))
        for phase, bars in enumerate(self._bars):
            bars.setOpts(x0=ends[:, phase] - seconds[:, phase], width=seconds[:, phase], y=places, height=0.7)
        waits = np.array([answer.ttft.prefill_disk_wait_ns for answer in self._answers]) / 1e9
        prefill_start = ends[:, _PREFILL_PLACE] - seconds[:, _PREFILL_PLACE]
        self._hatch.setOpts(x0=prefill_start, width=waits, y=places, height=0.7)
        item = self._plot.getPlotItem()
        item.setXRange(0, max(1e-3, float(ends.max()) * 1.03), padding=0)
        item.setYRange(-0.5, max(FEWEST_PLACES, len(self._answers)) - 0.5, padding=0)
        labels = [(float(i), f"#{answer.number}") for i, answer in enumerate(self._answers)]
        item.getAxis("left").setTicks([labels])

    def _show_legend(self) -> None:
        if self._answers:
            colours = plot_colours(self.palette()).phases
            self._legend.setText(legend_html(self._answers[0], colours))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self._apply_theme()

    def _apply_theme(self) -> None:
        palette = self.palette()
        self._plot.setBackground(base_colour(palette))
        apply_axes_theme(self._plot.getPlotItem(), palette, self.font())
        for bars, colour in zip(self._bars, plot_colours(palette).phases, strict=True):
            bars.setOpts(brush=QColor(colour), pen=None)
        hatch = QBrush(QColor("black"), Qt.BrushStyle.BDiagPattern)
        self._hatch.setOpts(brush=hatch, pen=None)
        self._plot.setMinimumHeight(self.fontMetrics().height() * 14)
        self._show_legend()


def legend_html(answer: AnswerTiming, colours: Sequence[str]) -> str:
    """A table of phases: colour, words, milliseconds; the parts add up to the total below them."""
    title = f"Answer #{answer.number}" + (f" ({answer.model_name})" if answer.model_name else "")
    values = phase_values_ns(answer.ttft)
    rows = []
    for colour, words, value in zip(colours, PHASE_WORDS.values(), values, strict=True):
        rows.append(_legend_row(f'<span style="color:{colour}">■</span>', words, value))
        if words == "prefill":
            rows.append(_legend_row("▨", "of it waiting for disk", answer.ttft.prefill_disk_wait_ns))
    rows.append(_legend_row("", "<b>time to first token</b>", answer.ttft.total_ns))
    return f"<b>{title}</b><table>{''.join(rows)}</table>"


def _legend_row(swatch: str, words: str, value_ns: int) -> str:
    return (
        f"<tr><td>{swatch}&nbsp;</td><td>{words}&nbsp;&nbsp;</td>"
        f'<td align="right">{milliseconds_text(value_ns)}</td></tr>'
    )


def _empty_bars() -> pg.BarGraphItem:
    return pg.BarGraphItem(x0=[], y=[], width=[], height=0.7)
