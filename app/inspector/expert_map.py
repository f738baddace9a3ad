"""One picture with a row per MoE layer and a place per expert, with a cell cursor."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QGraphicsRectItem, QWidget

from app.inspector.expert_grid import label_step, tick_labels
from app.inspector.map_marks import MapMarks
from app.inspector.plot_frame import PlotFrame
from app.inspector.plot_theme import PlotColours, apply_axes_theme

MAP_TEXT_LINES = 11
_STEPS = {
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
}


class ExpertMap(PlotFrame):
    """Draws colour steps; emits the cell under the mouse or the arrow keys. Wheel and drag zoom and pan."""

    cell_pointed = Signal(int, int)  # row, column
    zoomed = Signal(QRectF)  # the part the user chose, in columns and rows

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        self._plot = pg.PlotWidget()
        super().__init__(self._plot, MAP_TEXT_LINES, parent)
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._layers: tuple[int, ...] = ()
        self._indices = np.zeros((0, 0), np.uint8)
        self._layer_labels: tuple[str, ...] = ()
        self._columns = 0
        self._column_title = ""
        self._cell = (0, 0)
        self._plot.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._image = pg.ImageItem(axisOrder="row-major")
        self._cursor = QGraphicsRectItem()
        self._build_plot()
        self.marks = MapMarks(self._view)
        self.update_theme()

    def _build_plot(self) -> None:
        item = self._plot.getPlotItem()
        item.setMenuEnabled(False)
        item.hideButtons()
        item.setLabel("left", "Layer")
        item.getAxis("bottom").setStyle(hideOverlappingLabels=False)
        view = item.getViewBox()
        view.invertY(True)
        view.setDefaultPadding(0)
        view.addItem(self._image)
        view.addItem(self._cursor, ignoreBounds=True)
        self._cursor.setPen(pg.mkPen("#ff3030", width=2, cosmetic=True))
        self._cursor.setVisible(False)
        view.sigRangeChanged.connect(self._view_changed)
        view.sigResized.connect(self._view_changed)
        view.sigRangeChangedManually.connect(lambda _axes: self.zoomed.emit(view.viewRect()))
        self._plot.scene().sigMouseMoved.connect(self._point_at)

    @property
    def _view(self) -> pg.ViewBox:
        return self._plot.getPlotItem().getViewBox()

    @property
    def layer_labels(self) -> tuple[str, ...]:
        """Labels at the rows that have room for one, top to bottom."""
        return self._layer_labels

    @property
    def indices(self) -> NDArray[np.uint8]:
        """The colour steps on the screen, shape (layers, experts)."""
        return self._indices

    def set_colours(self, table: NDArray[np.uint8]) -> None:
        """Colour per step, shape (256, 3)."""
        self._image.setLookupTable(table)

    def set_column_title(self, title: str) -> None:
        """Only a new title: any makes the axes draw themselves anew, a quarter of a refresh."""
        if title != self._column_title:
            self._column_title = title
            self._plot.getPlotItem().setLabel("bottom", title)

    def draw(self, indices: NDArray[np.uint8], layers: tuple[int, ...]) -> None:
        """Show colour steps, shape (layers, experts); another shape also resets the zoom."""
        self._indices = indices
        self._image.setImage(indices, autoLevels=False, levels=(0, 255))
        if layers != self._layers or indices.shape[1] != self._columns:
            self._layers, self._columns = layers, indices.shape[1]
            self._cell = (0, 0)
            self._cursor.setVisible(False)
            self.show_all()

    def show_all(self) -> None:
        """Undo zoom and pan."""
        rows, columns = len(self._layers), self._columns
        self._view.setLimits(xMin=0, xMax=columns, yMin=0, yMax=rows, minXRange=1, minYRange=1)
        self._view.setRange(QRectF(0, 0, columns, rows), padding=0)
        self._place_ticks()

    def show_part(self, part: QRectF) -> None:
        """Zoom to `part`, in columns and rows."""
        self._view.setRange(part, padding=0)

    def mark_cell(self, row: int, column: int) -> None:
        """Put the cursor there without telling anyone."""
        self._cell = row, column
        self._cursor.setRect(QRectF(column, row, 1, 1))
        self._cursor.setVisible(True)

    def _view_changed(self) -> None:
        self._place_ticks()
        self.marks.place()

    def _place_ticks(self) -> None:
        item = self._plot.getPlotItem()
        (x0, x1), (y0, y1) = self._view.viewRange()
        metrics = self.fontMetrics()
        size = self._view.size()
        row_step = label_step(size.height() / max(y1 - y0, 1e-6), metrics.height())
        row_ticks = tick_labels(self._layers, y0, y1, row_step)
        self._layer_labels = tuple(text for _, text in row_ticks)
        item.getAxis("left").setTicks([row_ticks])
        widest = metrics.horizontalAdvance("0" * (len(str(self._columns)) + 2))
        column_step = label_step(size.width() / max(x1 - x0, 1e-6), widest)
        item.getAxis("bottom").setTicks([tick_labels(range(self._columns), x0, x1, column_step)])

    def _point_at(self, scene_position: QPointF) -> None:
        point = self._view.mapSceneToView(scene_position)
        self._move_cursor(int(np.floor(point.y())), int(np.floor(point.x())), is_clamped=False)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = _STEPS.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
            return
        self._move_cursor(self._cell[0] + step[0], self._cell[1] + step[1], is_clamped=True)

    def _move_cursor(self, row: int, column: int, is_clamped: bool) -> None:
        rows = len(self._layers)
        if is_clamped:
            row, column = min(max(row, 0), rows - 1), min(max(column, 0), self._columns - 1)
        if not (0 <= row < rows and 0 <= column < self._columns):
            return
        self.mark_cell(row, column)
        self.cell_pointed.emit(row, column)

    def apply_theme(self, colours: PlotColours) -> None:
        apply_axes_theme(self._plot.getPlotItem(), self.palette(), self.font())
        self._place_ticks()
