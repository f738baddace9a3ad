"""Garbage is collected in the GUI thread only, and thoroughly only while nothing moves on the screen.

Python collects in whichever thread happens to allocate. In the engine's thread, or in one that draws
formulas, that would delete widgets and documents where Qt doesn't allow it.
"""

from __future__ import annotations

import gc
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

_STEP_MS = 500
_YOUNG_OBJECTS = 2_000
_STEPS_TO_MIDDLE = 10
_STEPS_TO_ALL = 120


class GuiCollector(QObject):
    """Works from its making until `close`. GUI thread. `is_busy`: a pause of 50 ms would be seen."""

    def __init__(self, is_busy: Callable[[], bool], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._is_busy = is_busy
        self._steps_since_middle = self._steps_since_all = 0
        gc.disable()
        # what exists now stays: there is no need to go through it again
        gc.collect()
        gc.freeze()
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.step)
        self._timer.start(_STEP_MS)

    def step(self) -> None:
        """Collect what is due."""
        self._steps_since_middle += 1
        self._steps_since_all += 1
        if self._steps_since_all >= _STEPS_TO_ALL and not self._is_busy():
            self._steps_since_all = self._steps_since_middle = 0
            gc.collect()
        elif self._steps_since_middle >= _STEPS_TO_MIDDLE:
            self._steps_since_middle = 0
            gc.collect(1)
        elif gc.get_count()[0] > _YOUNG_OBJECTS:
            gc.collect(0)

    def close(self) -> None:
        """As Python does it by itself."""
        self._timer.stop()
        gc.unfreeze()
        gc.enable()
