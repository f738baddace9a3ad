"""The dock that shows, live, where experts live and what the engine waits for."""

from __future__ import annotations

from PySide6.QtWidgets import QDockWidget, QWidget

from app.telemetry_store import TelemetryStore


class InspectorDock(QDockWidget):
    """Draws `store` while it is visible."""

    def __init__(self, store: TelemetryStore, parent: QWidget | None = None) -> None:
        super().__init__("Inspector", parent)
        self.setObjectName("inspector_dock")
        self._store = store

    def refresh(self) -> None:
        """Draw what changed since the last call."""
