"""What may be dropped on the window: models and recordings."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtGui import QDropEvent

from engine.telemetry.trace_file import SUFFIX as RECORDING_SUFFIX

_ENDINGS = (".gguf", RECORDING_SUFFIX)


def dropped_file(event: QDropEvent) -> Path | None:
    """The first model or recording among what is dropped."""
    paths = [url.toLocalFile() for url in event.mimeData().urls()]
    return next((Path(path) for path in paths if path.lower().endswith(_ENDINGS)), None)


def is_recording(path: Path) -> bool:
    return path.suffix == RECORDING_SUFFIX
