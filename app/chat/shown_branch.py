"""Keeps the transcript true to the shown conversation while answers begin, grow and end."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent

from app.chat.answering import Answering
from app.chat.sending import Sending
from app.chat.transcript import Transcript
from app.history.errors import HistoryError
from app.history.records import COMPLETE, Message
from app.history.store import HistoryStore

_HINT = "Ask something. The answer appears here while it is made."


class ShownBranch(QObject):
    """The active branch of one conversation (None: a new one), whatever runs in the others. GUI thread.

    `changed` carries the id of any conversation where a message was added or an answer began or ended.
    """

    changed = Signal(int)
    fault = Signal(object)

    def __init__(
        self, store: HistoryStore, answering: Answering, sending: Sending, transcript: Transcript
    ) -> None:
        super().__init__()
        self.conversation_id: int | None = None
        self._store = store
        self._answering = answering
        self._transcript = transcript
        self._last_id: int | None = None
        sending.stored.connect(self._stored)
        answering.begun.connect(self._begun)
        answering.text_added.connect(self._text_added)
        answering.ended.connect(self._ended)

    def show(self, conversation_id: int | None) -> None:
        """Switch to a conversation, at its end."""
        self.conversation_id = conversation_id
        self._show_all()

    def refresh(self) -> None:
        """Write the transcript anew in the same place: other colours, another font, another branch."""
        self._transcript.refresh(self._read(), self._live())

    def messages(self) -> list[Message]:
        """What is shown; a running answer with its text so far."""
        if self.conversation_id is None:
            return []
        run = self._answering.run_of(self.conversation_id)
        try:
            messages = self._store.messages(self.conversation_id)
        except HistoryError as error:
            self.fault.emit(error)
            return []
        return [
            replace(each, text=run.text) if run is not None and each.id == run.message.id else each
            for each in messages
        ]

    def _show_all(self) -> None:
        self._transcript.show_messages(self._read(), self._live(), _HINT)

    def _read(self) -> list[Message]:
        messages = self.messages()
        self._last_id = messages[-1].id if messages else None
        return messages

    def _live(self) -> Message | None:
        """The running answer, if the branch ends with it."""
        run = self._answering.run_of(self.conversation_id)
        is_shown = run is not None and run.message.id == self._last_id
        return replace(run.message, text=run.text) if run is not None and is_shown else None

    # --- what happens -------------------------------------------------------------------------

    def _stored(self, message: Message) -> None:
        if message.conversation_id == self.conversation_id:
            if message.parent_id == self._last_id:
                self._transcript.add_message(message)
                self._last_id = message.id
            else:
                self._show_all()  # a new version of an earlier message
            self._transcript.jump_to_end()
        self.changed.emit(message.conversation_id)

    def _begun(self, conversation_id: int) -> None:
        run = self._answering.run_of(conversation_id)
        if run is not None and conversation_id == self.conversation_id:
            if run.message.parent_id == self._last_id:
                self._transcript.add_message(run.message, is_live=True)
                self._last_id = run.message.id
            else:
                self._show_all()  # another version, or more of this one
        self.changed.emit(conversation_id)

    def _text_added(self, conversation_id: int, text: str) -> None:
        run = self._answering.run_of(conversation_id)
        if run is None:
            return
        is_shown = conversation_id == self.conversation_id and run.message.id == self._last_id
        length = self._transcript.document().characterCount()
        if is_shown:
            self._transcript.append_text(text)
        if run.awaits_paint and not (is_shown and self._transcript.is_seen):
            run.miss_paint()
        elif run.awaits_paint and self._transcript.document().characterCount() != length:
            # at once: so the first word is seen a little earlier, and it is known when
            self._transcript.viewport().repaint()
            self._answering.note_paint(run)

    def _ended(self, message: Message) -> None:
        if message.conversation_id == self.conversation_id:
            if message.id == self._last_id:
                self._transcript.end_answer(message)
            self._announce("Answer finished." if message.status == COMPLETE else "Answer ended.")
        self.changed.emit(message.conversation_id)

    def _announce(self, words: str) -> None:
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self._transcript, words))
