"""Asks the engine for warm-ups when the inspector's button is pressed, and tells how they ended."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal

from app.engine_bridge import EngineBridge
from app.inspector.figures import count_text, percent_text
from engine.events import Event, RequestFailed, WarmUpFinished


class WarmUpRequests(QObject):
    """One at a time; GUI thread. `done` says in words how it went, `fault` carries an ErrorInfo."""

    done = Signal(str)
    fault = Signal(object)

    def __init__(self, bridge: EngineBridge, parent: QObject) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._request_id: int | None = None

    @property
    def is_running(self) -> bool:
        return self._request_id is not None

    def start(self) -> None:
        """Ask for a warm-up, if none is on its way."""
        if self._request_id is None:
            self._request_id = self._bridge.warm_up()

    def stop(self) -> None:
        """Cancel it; what has come into memory stays there."""
        if self._request_id is not None:
            self._bridge.cancel(self._request_id)

    def apply(self, events: Sequence[Event]) -> None:
        """Take the outcome from the engine's events."""
        for event in events:
            if self._request_id is not None and event.request_id == self._request_id:
                self._take(event)

    def _take(self, event: Event) -> None:
        if isinstance(event, WarmUpFinished):
            self._request_id = None
            before, after = event.expected_hit_rate_before, event.expected_hit_rate_after
            self.done.emit(
                f"Warmed up: {count_text(event.experts_loaded)} experts read; "
                f"expected hit rate {percent_text(before)} before, {percent_text(after)} now."
            )
        elif isinstance(event, RequestFailed):
            self._request_id = None
            if event.error.kind == "Cancelled":
                self.done.emit("The warm-up was stopped; what had come into memory stays.")
            else:
                self.fault.emit(event.error)
