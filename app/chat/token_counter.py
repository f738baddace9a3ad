"""Has prompts counted by the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from engine.config import ChatMessage
from engine.events import Event, RequestFailed, TokensCounted

Counted = Callable[[TokensCounted | None], None]


class CountingEngine(Protocol):
    """What counting needs of the bridge; returns at once."""

    def count_tokens(self, messages: Sequence[ChatMessage]) -> int: ...


class TokenCounter:
    """Hands each count to whoever asked for it. GUI thread; counts wait while the engine answers."""

    def __init__(self, engine: CountingEngine) -> None:
        self._engine = engine
        self._asked: dict[int, Counted] = {}

    def count(self, messages: Sequence[ChatMessage], counted: Counted) -> None:
        """Call `counted` with the outcome; None if nothing could be counted, as without a model."""
        self._asked[self._engine.count_tokens(messages)] = counted

    def apply(self, events: Sequence[Event]) -> None:
        """Take the engine's events."""
        for event in events:
            if isinstance(event, TokensCounted | RequestFailed):
                counted = self._asked.pop(event.request_id, None)
                if counted is not None:
                    counted(event if isinstance(event, TokensCounted) else None)
