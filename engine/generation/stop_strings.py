"""Finds stop strings in a stream of text without ever showing a part of one."""

from __future__ import annotations

from collections.abc import Iterable


class StopMatcher:
    """Passes text on until a stop string is complete; a suffix that may begin one is held back.

    The stop string that is complete first wins (of those that end together, the longest), so the
    result doesn't depend on how the text was cut into pieces. Empty stop strings are ignored.
    """

    def __init__(self, stops: Iterable[str]) -> None:
        self._stops = tuple(stop for stop in stops if stop)
        self._longest = max(map(len, self._stops), default=0)
        self._held = ""
        self._is_stopped = False

    def feed(self, text: str) -> tuple[str, bool]:
        """Text that is safe to show, and whether a stop string has been found (then feed no more)."""
        if self._is_stopped:
            return "", True
        pending = self._held + text
        start = self._find(pending)
        self._is_stopped = start is not None
        cut = self._safe_length(pending) if start is None else start
        self._held = "" if self._is_stopped else pending[cut:]
        return pending[:cut], self._is_stopped

    def flush(self) -> str:
        """Release what is held back: the text has ended, so no stop string can follow."""
        held, self._held = self._held, ""
        return held

    def _find(self, text: str) -> int | None:
        """Start of the stop string that ends first."""
        found = [(start + len(stop), start) for stop in self._stops if (start := text.find(stop)) >= 0]
        return min(found)[1] if found else None

    def _safe_length(self, text: str) -> int:
        """Length of `text` without the longest suffix that begins a stop string."""
        for length in range(min(self._longest - 1, len(text)), 0, -1):
            if any(stop.startswith(text[-length:]) for stop in self._stops):
                return len(text) - length
        return len(text)
