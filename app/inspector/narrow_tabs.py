"""Tabs with little room around their words, so that all of them fit a narrow dock."""

from __future__ import annotations

from PySide6.QtWidgets import QProxyStyle, QStyle, QStyleOption, QTabWidget, QWidget

_PIXELS_AROUND = 10  # Fusion leaves 24


class NarrowTabStyle(QProxyStyle):
    """The program's style with narrower tabs; belongs to the tab bar it is for."""

    def pixelMetric(
        self, metric: QStyle.PixelMetric, option: QStyleOption | None = None, widget: QWidget | None = None
    ) -> int:
        if metric == QStyle.PixelMetric.PM_TabBarTabHSpace:
            return _PIXELS_AROUND
        return super().pixelMetric(metric, option, widget)


def make_narrow(tabs: QTabWidget) -> None:
    """Only the bar: pages keep the style they have."""
    style = NarrowTabStyle("Fusion")
    style.setParent(tabs)
    tabs.tabBar().setStyle(style)
