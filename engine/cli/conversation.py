"""Turns of one conversation over a running engine; what `chat` does between reading and showing."""

from __future__ import annotations

from collections import deque

from engine.cli.chat_views import ChatView
from engine.cli.stop_signal import StopSignal
from engine.config import ChatMessage, LoadSettings, SamplingSettings
from engine.events import (
    Event,
    GenerationFinished,
    ModelLoaded,
    RequestFailed,
)
from engine.service import Engine

_POLL_SECONDS = 0.1  # how soon a Ctrl+C is noticed while nothing happens
_OUTCOMES = (ModelLoaded, GenerationFinished, RequestFailed)


class Conversation:
    """Loads a model, then asks turn by turn; the history grows by each turn that got an answer."""

    def __init__(self, engine: Engine, view: ChatView, system: str | None) -> None:
        self._engine = engine
        self._view = view
        self._first = (ChatMessage("system", system),) if system else ()
        self._turns: tuple[ChatMessage, ...] = ()
        self._pending: deque[Event] = deque()

    def load(self, settings: LoadSettings) -> Event:
        """ModelLoaded or RequestFailed. A Ctrl+C cancels the load."""
        return self._outcome(self._engine.load(settings))

    def ask(self, text: str, sampling: SamplingSettings) -> Event:
        """GenerationFinished or RequestFailed; a Ctrl+C stops the answer, a second one raises."""
        asked = (*self._turns, ChatMessage("user", text))
        outcome = self._outcome(self._engine.generate((*self._first, *asked), sampling))
        if isinstance(outcome, GenerationFinished) and outcome.text:
            self._turns = (*asked, ChatMessage("assistant", outcome.text))
        return outcome

    def reset(self) -> None:
        """Forget all turns; the system message stays."""
        self._turns = ()

    def _outcome(self, request_id: int) -> Event:
        """Show events up to the one that ends the request."""
        with StopSignal() as stop:
            is_cancelled = False
            while True:
                event = self._next()
                if event is not None:
                    self._view.show(event)
                    if event.request_id == request_id and isinstance(event, _OUTCOMES):
                        return event
                if stop.count > 1:
                    raise KeyboardInterrupt
                if stop.count and not is_cancelled:
                    self._engine.cancel(request_id)
                    is_cancelled = True

    def _next(self) -> Event | None:
        if not self._pending and self._engine.wait_for_events(_POLL_SECONDS):
            self._pending.extend(self._engine.drain())
        return self._pending.popleft() if self._pending else None
