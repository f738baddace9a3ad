"""One plot of the time view: some curves over the shared axis, with a scale of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtGui import QColor

from app.ceiling import Ceiling
from app.inspector.curve_points import CurvePoints
from app.inspector.time_box import TimeBox
from app.rate_series import RateSeries

_SHARES_TOP = 100.0


class TimeLane:
    """`rates`: what is drawn, names of RATES. Units "%" are shares of 0..1 on a fixed scale."""

    def __init__(
        self, layout: pg.GraphicsLayoutWidget, row: int, title: str, units: str, rates: Sequence[str]
    ) -> None:
        self.rates, self._is_share = tuple(rates), units == "%"
        self._ceiling: Ceiling | None = None
        self.box = TimeBox()
        self.plot = layout.addPlot(row=row, col=0, viewBox=self.box)
        self.plot.hideButtons()
        self.plot.setLabel("left", title, units=units)
        self.plot.getAxis("left").enableAutoSIPrefix(units.startswith("B"))
        self.plot.showAxis("right")
        self.plot.getAxis("right").setTicks([[]])
        self.plot.getAxis("bottom").enableAutoSIPrefix(False)
        self.show_axis(is_last=False)
        self._region = pg.LinearRegionItem(movable=False)
        self._region.setVisible(False)
        self.plot.addItem(self._region, ignoreBounds=True)
        self.curves = {name: self.plot.plot(skipFiniteCheck=True) for name in self.rates}
        if self._is_share:
            self.plot.setYRange(0, _SHARES_TOP, padding=0.02)

    def show_axis(self, is_last: bool) -> None:
        """Only the lowest lane says what the axis counts."""
        self.plot.getAxis("bottom").setStyle(showValues=is_last)
        self.plot.showLabel("bottom", is_last)
        if is_last:
            self.plot.setLabel("bottom", "Before the newest sample", units="s")

    @property
    def marks(self) -> tuple[str, ...]:
        """Words at the right."""
        levels = self.plot.getAxis("right")._tickLevels
        return tuple(text for _, text in levels[0]) if levels else ()

    def draw(self, shown: RateSeries, points: CurvePoints, ceiling: Ceiling | None) -> None:
        """Curves, and a scale up to the ceiling: so the height of a curve is the load."""
        factor = _SHARES_TOP if self._is_share else 1.0
        top = 0.0
        for name, curve in self.curves.items():
            values = shown.rate(name) * factor
            curve.setData(points.seconds, points.heights(values), connect=points.joined)
            top = max(top, _top(values))
        if not self._is_share:
            highest = ceiling.bytes_per_second if ceiling else 0.0
            self.plot.setYRange(0, max(top, highest) * 1.05 or 1, padding=0)
            self._show_marks(ceiling)

    def _show_marks(self, ceiling: Ceiling | None) -> None:
        """Only other ones: any make the axis draw itself anew."""
        if ceiling != self._ceiling:
            self._ceiling = ceiling
            self.plot.getAxis("right").setTicks([_load_marks(ceiling) if ceiling else []])

    def show_region(self, seconds: tuple[float, float] | None) -> None:
        """The selected part of the axis, None: nothing is selected."""
        self._region.setVisible(seconds is not None)
        if seconds is not None:
            self._region.setRegion(seconds)

    def colour(self, colours: Mapping[str, str], highlight: QColor) -> None:
        """`colours` per rate."""
        for name, curve in self.curves.items():
            # one pixel wide: without OpenGL a wider line takes five times as long to draw
            curve.setPen(pg.mkPen(colours[name]))
        self._region.setBrush(highlight)


def _load_marks(ceiling: Ceiling) -> list[tuple[float, str]]:
    """Shares of the measured maximum; of a rate that was only seen, no shares."""
    if ceiling.is_measured:
        return [(ceiling.bytes_per_second * share, f"{share:.0%}") for share in (0, 0.5, 1)]
    return [(ceiling.bytes_per_second, "seen")] if ceiling.bytes_per_second else []


def _top(values: NDArray[np.float64]) -> float:
    return float(values.max(initial=0.0))
