"""A widget around a plot that is as high as some lines of text and follows palette and font."""

from __future__ import annotations

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QSize
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.inspector.plot_theme import PlotColours, plot_colours


class PlotFrame(QWidget):
    """Holds a pyqtgraph view; subclasses colour it in `apply_theme`.

    pyqtgraph asks for 640x480 however narrow the dock is; this asks for `text_lines` lines and takes what
    is left over.
    """

    def __init__(self, view: pg.GraphicsView, text_lines: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text_lines = text_lines
        self._graphics_view = view
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(view)

    def sizeHint(self) -> QSize:
        return self.minimumSizeHint()

    def minimumSizeHint(self) -> QSize:
        line = self.fontMetrics().height()
        return QSize(line * 8, line * self._text_lines)

    def apply_theme(self, colours: PlotColours) -> None:
        """Colour what the plot shows; called after every change of palette or font."""

    def update_theme(self) -> None:
        """Take palette and font anew."""
        palette = self.palette()
        self._graphics_view.setBackground(palette.color(QPalette.ColorRole.Base))
        self.apply_theme(plot_colours(palette))
        self.updateGeometry()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self.update_theme()
