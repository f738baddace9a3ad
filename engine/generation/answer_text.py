"""The visible text of one answer, token by token."""

from __future__ import annotations

from collections.abc import Iterable

from engine.events import FinishReason
from engine.generation.stop_strings import StopMatcher
from engine.generation.utf8_stream import Utf8Stream


class AnswerText:
    """Turns token bytes into text to append: whole characters, no part of a stop string.

    `opening` is put before the first text: what the prompt already said of this answer.
    """

    def __init__(self, stops: Iterable[str], opening: str = "") -> None:
        self._characters = Utf8Stream()
        self._opening = opening
        self._stops = StopMatcher(stops)
        self._shown: list[str] = []
        self.is_stopped = False

    @property
    def text(self) -> str:
        """Everything shown so far."""
        return "".join(self._shown)

    def add(self, data: bytes) -> str:
        """Text that became visible with this token; sets `is_stopped` at a stop string."""
        delta, self.is_stopped = self._stops.feed(self._characters.feed(data))
        return self._opened(delta)

    def finish(self, reason: FinishReason) -> str:
        """The rest of the text once the answer has ended.

        A character that the model itself left unfinished shows as U+FFFD; one that was cut off by a
        limit or by the user is left out.
        """
        if self.is_stopped:
            return ""
        unfinished = self._characters.flush() if reason is FinishReason.END_OF_TEXT else ""
        rest = self._stops.feed(unfinished)[0] + self._stops.flush()
        return self._opened(rest)

    def _opened(self, delta: str) -> str:
        if delta:
            delta, self._opening = self._opening + delta, ""
            self._shown.append(delta)
        return delta
