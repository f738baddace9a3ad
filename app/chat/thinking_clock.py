"""How long an answer thinks, told from its text as it arrives."""

from __future__ import annotations

from app.chat.thinking import THINKING, may_change_split, split_thinking


class ThinkingClock:
    """All pieces of thinking count; times are those of the text's arrival. Any one thread."""

    def __init__(self) -> None:
        self._text = ""
        self._first_ns: int | None = None
        self._since_ns: int | None = None
        self._total_ns = 0

    @property
    def seconds(self) -> float:
        """Up to the latest text; 0 while nothing was thought."""
        return self._total_ns / 1e9

    def hear(self, added: str, t_ns: int) -> None:
        """More text arrived."""
        self._text += added
        is_first, self._first_ns = self._first_ns is None, t_ns if self._first_ns is None else self._first_ns
        if is_first or may_change_split(self._text, len(added)):
            segments = split_thinking(self._text, is_growing=True)
            is_thinking = bool(segments) and segments[-1].is_open
            has_thought = any(segment.kind == THINKING for segment in segments)
            self._turn(is_thinking, has_thought, t_ns)
        elif self._since_ns is not None:
            self._count(t_ns)

    def _turn(self, is_thinking: bool, has_thought: bool, t_ns: int) -> None:
        if self._since_ns is not None:
            self._count(t_ns)
        elif has_thought and not is_thinking and not self._total_ns and self._first_ns is not None:
            self._total_ns = t_ns - self._first_ns  # it was opened in the prompt
        self._since_ns = t_ns if is_thinking else None

    def _count(self, t_ns: int) -> None:
        if self._since_ns is not None:
            self._total_ns += t_ns - self._since_ns
            self._since_ns = t_ns
