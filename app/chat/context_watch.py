"""Keeps the context meter and the attachments' figures true while the user types."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, QTimer

from app.chat.attachment_bar import AttachmentBar
from app.chat.attachment_prompt import fenced
from app.chat.context_meter import ContextMeter
from app.chat.token_counter import TokenCounter
from app.history.records import Attachment
from engine.config import ChatMessage
from engine.events import TokensCounted

_DELAY_MS = 250
_EMPTY = (ChatMessage("user", "x"),)


class ContextWatch(QObject):
    """Has the prompt counted a moment after the last change, one count at a time. GUI thread.

    `prompt` gives the messages as they would be sent now, empty if there is nothing to count.
    """

    def __init__(
        self, meter: ContextMeter, counter: TokenCounter, prompt: Callable[[], Sequence[ChatMessage]]
    ) -> None:
        super().__init__()
        self._meter = meter
        self._counter = counter
        self._prompt = prompt
        self._is_counting = False
        self._is_outdated = False
        self._timer = QTimer(self, singleShot=True, interval=_DELAY_MS)
        self._timer.timeout.connect(self._count)

    def touch(self) -> None:
        """The prompt may have changed."""
        self._timer.start()

    def price(self, attachment: Attachment, bar: AttachmentBar) -> None:
        """Find out what a file costs, a message with it against one without, and show it on its chip."""
        with_file = [ChatMessage("user", f"{fenced(attachment)}\n\nx")]

        def counted_without(whole: TokensCounted, base: TokensCounted | None) -> None:
            if base is not None:
                bar.show_cost(attachment, whole.tokens - base.tokens)

        def counted_with(whole: TokensCounted | None) -> None:
            if whole is not None:
                self._counter.count(_EMPTY, lambda base: counted_without(whole, base))

        self._counter.count(with_file, counted_with)

    def stop(self) -> None:
        """The program ends."""
        self._timer.stop()

    def _count(self) -> None:
        if self._is_counting:
            # the engine answers counts in turn: more than one would only be late
            self._is_outdated = True
            return
        messages = self._prompt()
        if not messages:
            self._meter.show_nothing()
            return
        self._is_counting = True
        self._counter.count(messages, self._counted)

    def _counted(self, event: TokensCounted | None) -> None:
        self._is_counting = False
        if self._is_outdated:
            self._is_outdated = False
            self._count()
        elif event is None:
            self._meter.show_nothing()
        else:
            self._meter.show_count(event.tokens, event.context_tokens)
