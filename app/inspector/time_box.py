"""The area of a time plot: turns wheel and drag into wishes; it never moves anything itself."""

from __future__ import annotations

import pyqtgraph as pg
from pyqtgraph.GraphicsScene.mouseEvents import MouseClickEvent, MouseDragEvent
from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtWidgets import QGraphicsSceneWheelEvent

_WHEEL_STEP = 120


class TimeBox(pg.ViewBox):  # type: ignore[misc]  # pyqtgraph publishes no types
    """Positions are x in the plot's own units. A drag selects; with Shift or the middle button it pans."""

    zoom_wanted = Signal(float, float)  # wheel steps towards the user (more time), position
    pan_wanted = Signal(float)  # by how much, in the plot's units
    select_wanted = Signal(float, float)  # from, to
    clear_wanted = Signal()

    def __init__(self) -> None:
        super().__init__(enableMenu=False)
        self.setMouseEnabled(x=False, y=False)

    def wheelEvent(self, event: QGraphicsSceneWheelEvent, axis: int | None = None) -> None:
        event.accept()
        steps = -event.delta() / _WHEEL_STEP
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.pan_wanted.emit(steps * self.viewRect().width() / 10)
        else:
            self.zoom_wanted.emit(steps, self._x(event.scenePos()))

    def mouseDragEvent(self, event: MouseDragEvent, axis: int | None = None) -> None:
        event.accept()
        is_pan = event.button() == Qt.MouseButton.MiddleButton
        if is_pan or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.pan_wanted.emit(self._x(event.lastScenePos()) - self._x(event.scenePos()))
        else:
            self.select_wanted.emit(self._x(event.buttonDownScenePos()), self._x(event.scenePos()))

    def mouseClickEvent(self, event: MouseClickEvent) -> None:
        event.accept()
        self.clear_wanted.emit()

    def _x(self, scene_position: QPointF) -> float:
        return float(self.mapSceneToView(scene_position).x())
