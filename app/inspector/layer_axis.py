"""Labels of an axis that counts expert layers, as many as there is room for."""

from __future__ import annotations

import pyqtgraph as pg
from PySide6.QtGui import QFontMetrics

from app.inspector.expert_grid import label_step, tick_labels


def place_layer_ticks(item: pg.PlotItem, layers: tuple[int, ...], metrics: QFontMetrics) -> None:
    """Put layer numbers under a plot whose place i spans i to i + 1."""
    width = item.getViewBox().width() / max(1, len(layers))
    step = label_step(width, metrics.horizontalAdvance("0000"))
    item.getAxis("bottom").setTicks([tick_labels(layers, 0, len(layers), step)])
