"""Measures, when the user asks for it, how fast memory and the model's drive are."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from engine.config import usable_cores
from engine.errors import ErrorInfo, error_info
from engine.hardware.drive_rate import ReadSpan, measure_drive_rate
from engine.hardware.memory_rate import measure_memory_rate
from engine.model_facts import ModelInfo

_READERS = 4
_SPANS = 64
_DRIVE_SECONDS = 0.7


@dataclass(frozen=True, slots=True)
class MeasuredRates:
    """Bytes per second: what all cores get out of memory, and random slices of the model's file."""

    memory_bytes_per_second: float
    drive_bytes_per_second: float


def measure_rates(model: ModelInfo) -> MeasuredRates:
    """Blocks for about two seconds and takes 256 MiB. Raises DiskReadError, OSError, MemoryError."""
    path = Path(model.path)
    last_byte = max(0, path.stat().st_size - model.expert_bytes)
    chance = random.Random(0)
    spans = [ReadSpan(path, chance.randint(0, last_byte), model.expert_bytes) for _ in range(_SPANS)]
    drive = measure_drive_rate(spans, _READERS, _DRIVE_SECONDS).bytes_per_second
    return MeasuredRates(measure_memory_rate(model.threads or usable_cores()), drive)


class RateProbe(QObject):
    """One measurement at a time on a thread of its own; `done` and `failed` come on the GUI thread."""

    done = Signal(MeasuredRates)
    failed = Signal(ErrorInfo)

    def __init__(
        self, measure: Callable[[ModelInfo], MeasuredRates] = measure_rates, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._measure = measure
        self._thread: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self, model: ModelInfo) -> None:
        """Returns at once."""
        if not self.is_running:
            self._thread = threading.Thread(target=self._run, args=(model,), name="rate-probe", daemon=True)
            self._thread.start()

    def _run(self, model: ModelInfo) -> None:
        try:
            self.done.emit(self._measure(model))
        except Exception as error:  # noqa: BLE001 - whatever it is, the user is told
            self.failed.emit(error_info(error))
