"""Drives an Engine in tests: collects its events until something happens, without sleeping."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from engine.backends.base import InferenceBackend
from engine.events import (
    Event,
    GenerationFinished,
    ModelAdjusted,
    ModelLoaded,
    ModelUnloaded,
    RequestFailed,
    TokensCounted,
    WarmUpFinished,
)
from engine.service import Engine

_PATIENCE_SECONDS = 20.0
_OUTCOMES = (
    ModelLoaded, ModelAdjusted, ModelUnloaded, GenerationFinished, WarmUpFinished, RequestFailed,
    TokensCounted,
)  # fmt: skip


class EngineDriver:
    """An engine and all events drained from it so far."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.events: list[Event] = []

    def until(self, is_wanted: Callable[[Event], bool]) -> Event:
        """The first wanted event, seen already or still to come; fails after 20 seconds."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        seen = 0
        while time.monotonic() < deadline:
            for event in self.events[seen:]:
                seen += 1
                if is_wanted(event):
                    return event
            self.engine.wait_for_events(0.5)
            self.events += self.engine.drain()
        raise AssertionError(f"not seen among {[type(event).__name__ for event in self.events]}")

    def outcome(self, request_id: int) -> Event:
        """The event that ends the request."""
        return self.until(lambda e: e.request_id == request_id and is_outcome(e))

    def first(self, kind: type[Event], request_id: int) -> Event:
        """The first event of a kind for a request."""
        return self.until(lambda e: isinstance(e, kind) and e.request_id == request_id)

    def close(self) -> None:
        """Close the engine and drain what is left."""
        self.engine.close()
        self.events += self.engine.drain(1_000_000)


def is_outcome(event: Event) -> bool:
    """Whether the event is of a kind that ends a request."""
    return isinstance(event, _OUTCOMES)


@contextmanager
def running_engine(factory: Callable[[], InferenceBackend]) -> Iterator[EngineDriver]:
    """An engine that is closed at the end, whatever happens."""
    driver = EngineDriver(Engine(factory))
    try:
        yield driver
    finally:
        driver.close()
