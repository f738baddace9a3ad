"""One answer in the making: what it has said and how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from app.chat.answer_words import answering_words, prefill_words
from app.chat.thinking_clock import ThinkingClock
from app.history.answer_writer import AnswerWriter
from app.history.records import Message
from engine.events import GenerationStarted, PrefillProgress, TextDelta


@dataclass(slots=True)
class AnswerRun:
    """Belongs to a conversation, whichever is on the screen. GUI thread only.

    `stats` is what is known of it from the start: the settings used and what was left out.
    """

    message: Message
    request_id: int
    writer: AnswerWriter
    stats: dict[str, object]
    progress: str = "Waiting for the engine…"
    first_paint_ns: int = 0  # from the first text to its pixels; 0 if nobody saw it come
    _first_text_ns: int = 0
    _is_paint_missed: bool = False
    _thinking: ThinkingClock = field(default_factory=ThinkingClock)

    @property
    def conversation_id(self) -> int:
        return self.message.conversation_id

    @property
    def text(self) -> str:
        """Everything said so far."""
        return self.writer.text

    @property
    def awaits_paint(self) -> bool:
        """Whether its first text came and is not on the screen yet."""
        return bool(self._first_text_ns) and not self.first_paint_ns and not self._is_paint_missed

    def paint(self, t_ns: int) -> None:
        """The first text has been painted, at `t_ns` of the events' clock."""
        self.first_paint_ns = max(1, t_ns - self._first_text_ns)

    def miss_paint(self) -> None:
        """The first text came while nobody could see it."""
        self._is_paint_missed = True

    def start(self, event: GenerationStarted) -> None:
        """The prompt is tokenised."""
        start = PrefillProgress(
            done_tokens=event.cached_tokens,
            total_tokens=event.prompt_tokens,
            cached_tokens=event.cached_tokens,
            elapsed_ns=0,
        )
        self.read_prompt(start)

    def read_prompt(self, event: PrefillProgress) -> None:
        """Part of the prompt is in the cache; late reports, after the first text, are old news."""
        if not self._first_text_ns:
            self.progress = prefill_words(event)

    def say(self, event: TextDelta) -> None:
        """More text arrived."""
        self._first_text_ns = self._first_text_ns or event.t_ns
        self.progress = answering_words(event.completion_tokens, event.t_ns - self._first_text_ns)
        self.writer.append(event.text)
        self._thinking.hear(event.text, event.t_ns)
        if self._thinking.seconds:
            self.stats["thinking_seconds"] = self._thinking.seconds

    def finished(self, status: str, stats: Mapping[str, object]) -> Message:
        """The answer as it ended."""
        return replace(self.message, text=self.text, status=status, stats=stats)
