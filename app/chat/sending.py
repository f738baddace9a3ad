"""Turns what the user sends into stored messages and asks; what comes too early queues up."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.chat.answering import Answering
from app.chat.ask import Ask
from app.chat.drafts import Drafts
from app.chat.outgoing import Outgoing, outgoing_of
from app.chat.prompt_messages import title_of
from app.history.errors import HistoryError
from app.history.records import COMPLETE, LEAF, Message
from app.history.store import HistoryStore


class Sending(QObject):
    """One queue per conversation, answered in order, kept with its draft meanwhile. GUI thread.

    A queue pauses when an answer is stopped or fails, and over a restart; `resume` or a new message goes on.
    `begun` carries the id of a new conversation before anything is in it, `stored` a message that is now in
    its conversation, `queue_changed` a conversation id, `fault` a HistoryError.
    """

    begun = Signal(int)
    stored = Signal(object)
    queue_changed = Signal(int)
    fault = Signal(object)

    def __init__(self, store: HistoryStore, answering: Answering, drafts: Drafts) -> None:
        super().__init__()
        self._store = store
        self._answering = answering
        self._drafts = drafts
        self._running: set[int] = set()
        answering.settled.connect(self._settled)

    def queued(self, conversation_id: int | None) -> tuple[Outgoing, ...]:
        """What waits, the next first."""
        if conversation_id is None:
            return ()
        try:
            return self._drafts.draft(conversation_id).queued
        except HistoryError as error:
            self.fault.emit(error)
            return ()

    def is_paused(self, conversation_id: int | None) -> bool:
        """Whether the queue waits for the user."""
        return bool(self.queued(conversation_id)) and conversation_id not in self._running

    def begin_conversation(self, outgoing: Outgoing) -> int | None:
        """A conversation for its first message, which is still to be sent; None if it can't be saved."""
        try:
            conversation_id = self._store.create_conversation(title_for(outgoing)).id
        except HistoryError as error:
            self.fault.emit(error)
            return None
        self.begun.emit(conversation_id)
        return conversation_id

    def send(self, conversation_id: int, outgoing: Outgoing) -> bool:
        """Store the message and ask for its answer, or queue it; False if it could not be saved."""
        try:
            self._running.add(conversation_id)
            if self._answering.is_free(conversation_id) and not self.queued(conversation_id):
                self._store_and_ask(conversation_id, outgoing, LEAF)
            else:
                self._drafts.put_queue(conversation_id, (*self.queued(conversation_id), outgoing))
                self._send_next(conversation_id)
        except HistoryError as error:
            self.fault.emit(error)
            return False
        self.queue_changed.emit(conversation_id)
        return True

    def send_edited(self, edited: Message, outgoing: Outgoing) -> bool:
        """A new version of a message and everything below it; a running answer is stopped for it."""
        conversation_id = edited.conversation_id
        self._answering.stop(conversation_id)
        try:
            self._store_and_ask(conversation_id, outgoing, edited.parent_id)
        except HistoryError as error:
            self.fault.emit(error)
            return False
        return True

    def remove(self, conversation_id: int, index: int) -> Outgoing | None:
        """Take a message out of the queue."""
        queued = list(self.queued(conversation_id))
        if index >= len(queued):
            return None
        removed = queued.pop(index)
        try:
            self._drafts.put_queue(conversation_id, queued)
        except HistoryError as error:
            self.fault.emit(error)
        self.queue_changed.emit(conversation_id)
        return removed

    def pause(self, conversation_id: int | None) -> None:
        """Send nothing more of the queue by itself."""
        if conversation_id is not None:
            self._running.discard(conversation_id)
            self.queue_changed.emit(conversation_id)

    def resume(self, conversation_id: int) -> None:
        """Go on with the queue."""
        self._running.add(conversation_id)
        self._try_next(conversation_id)
        self.queue_changed.emit(conversation_id)

    def take_back(self, ask: Ask) -> Outgoing | None:
        """Forget an ask that was not begun; its message leaves the conversation if it is the last."""
        self._answering.drop(ask.conversation_id)
        self.pause(ask.conversation_id)
        if ask.is_continuation:
            return None
        try:
            last = self._store.messages(ask.conversation_id)[-1:]
            if not last or last[0].id != ask.message_id:
                return None
            self._store.delete_message(ask.message_id)
        except HistoryError as error:
            self.fault.emit(error)
            return None
        return outgoing_of(last[0])

    # --- in turn ------------------------------------------------------------------------------

    def _settled(self, message: Message) -> None:
        conversation_id = message.conversation_id
        if message.status != COMPLETE:
            self.pause(conversation_id)
        else:
            self._try_next(conversation_id)

    def _try_next(self, conversation_id: int) -> None:
        try:
            self._send_next(conversation_id)
        except HistoryError as error:
            self.fault.emit(error)

    def _send_next(self, conversation_id: int) -> None:
        queued = self.queued(conversation_id)
        is_due = conversation_id in self._running and self._answering.is_free(conversation_id)
        if queued and is_due:
            # stored before it leaves the queue: a crash in between shows it twice rather than never
            self._store_and_ask(conversation_id, queued[0], LEAF)
            self._drafts.put_queue(conversation_id, self.queued(conversation_id)[1:])
            self.queue_changed.emit(conversation_id)

    def _store_and_ask(self, conversation_id: int, outgoing: Outgoing, parent_id: int | None) -> None:
        message = self._store.add_user_message(
            conversation_id, outgoing.text, outgoing.attachments, parent_id
        )
        self.stored.emit(message)
        self._answering.ask(Ask(conversation_id, message.id))


def title_for(outgoing: Outgoing) -> str:
    """A conversation's title from its first message."""
    names = " ".join(each.name for each in outgoing.attachments)
    return title_of(outgoing.text) or title_of(names)
