"""What the engine thread may be asked to do, and the box its commands wait in."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass

from engine.backends.base import CancelToken
from engine.config import ChatMessage, LoadSettings, SamplingSettings
from engine.errors import Cancelled, error_info
from engine.events import Event, FinishReason, GenerationFinished, RequestFailed, TtftPhases, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Base of all commands; `queued_ns` is the engine's clock when the caller asked."""

    request_id: int
    queued_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Load(Command):
    settings: LoadSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjust(Command):
    settings: LoadSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Unload(Command):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Generate(Command):
    messages: tuple[ChatMessage, ...]
    sampling: SamplingSettings
    is_continuation: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CountTokens(Command):
    messages: tuple[ChatMessage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmUp(Command):
    pass


class Mailbox:
    """Commands in order, and one cancel token for the command in progress. All methods thread-safe."""

    def __init__(self) -> None:
        self._condition = threading.Condition(threading.Lock())
        self._waiting: deque[Command] = deque()
        self._running: tuple[int, CancelToken] | None = None
        self._is_closed = False

    def post(self, command: Command) -> bool:
        """Append a command; False if the box is closed and the command was refused."""
        with self._condition:
            if self._is_closed:
                return False
            self._waiting.append(command)
            self._condition.notify()
            return True

    def take(self, timeout_seconds: float) -> tuple[Command, CancelToken] | None:
        """The next command with its token, which counts as running until `done`; None if none came."""
        with self._condition:
            self._condition.wait_for(lambda: self._waiting or self._is_closed, timeout_seconds)
            if not self._waiting:
                return None
            command, token = self._waiting.popleft(), CancelToken()
            self._running = command.request_id, token
            return command, token

    def done(self) -> None:
        """The command taken last is finished."""
        with self._condition:
            self._running = None

    def cancel(self, request_id: int | None) -> list[Command]:
        """Raise the running token and return the waiting commands removed (None: all requests).

        An Unload stays: it frees memory, so there is nothing to gain from stopping it.
        """
        with self._condition:
            if self._running is not None and request_id in (None, self._running[0]):
                self._running[1].cancel()
            removed: list[Command] = []
            kept: deque[Command] = deque()
            for command in self._waiting:
                is_meant = request_id in (None, command.request_id) and not isinstance(command, Unload)
                (removed if is_meant else kept).append(command)
            self._waiting = kept
            return removed

    def close(self) -> None:
        """Accept nothing more; `take` returns what still waits, then None at once. Idempotent."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()

    @property
    def is_closed(self) -> bool:
        return self._is_closed


def cancelled_outcome(command: Command) -> Event:
    """How a request ends that was cancelled before it began or before it had any result."""
    if isinstance(command, Generate):
        return GenerationFinished(
            request_id=command.request_id,
            text="",
            reason=FinishReason.CANCELLED,
            usage=Usage(0, 0, 0, 0, 0, 0, 0),
            ttft=TtftPhases(),
        )
    return RequestFailed(request_id=command.request_id, error=error_info(Cancelled()))
