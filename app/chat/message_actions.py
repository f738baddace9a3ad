"""What can be done with the messages of the conversation on the screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.chat.answering import Answering
from app.chat.ask import Ask
from app.chat.details_dialog import DetailsDialog
from app.chat.plain_text import plain_text
from app.chat.thinking import without_thinking
from app.history.errors import HistoryError
from app.history.records import Message
from app.history.store import HistoryStore

_BUSY = "An answer is being made in this conversation. Stop it first, then try again."


class Shown(Protocol):
    """The conversation on the screen."""

    @property
    def conversation_id(self) -> int | None: ...

    def messages(self) -> list[Message]:
        """The shown branch; a running answer with its text so far."""


class MessageActions(QObject):
    """Every action takes a message id; None is the last answer. GUI thread.

    `changed` says that the branch must be shown anew, `edit_wanted` carries the message to edit. `said`
    carries words for the user with the text and the call of an undo (empty and None without one), `fault` a
    HistoryError.
    """

    changed = Signal()
    edit_wanted = Signal(object)
    said = Signal(str, str, object)
    fault = Signal(object)

    def __init__(self, store: HistoryStore, answering: Answering, shown: Shown, window: QWidget) -> None:
        super().__init__()
        self._store = store
        self._answering = answering
        self._shown = shown
        self._window = window

    # --- answers ------------------------------------------------------------------------------

    def answer_again(self, message_id: int | None = None) -> None:
        """Another version of an answer, or an answer to the last message if it has none."""
        messages = self._shown.messages()
        place = len(messages) - 1 if message_id is None else _place(messages, message_id)
        asked = next((each for each in reversed(messages[: place + 1]) if each.role == "user"), None)
        if asked is not None and self._is_free():
            self._answering.ask(Ask(asked.conversation_id, asked.id))

    def continue_answer(self, message_id: int | None = None) -> None:
        """More of an answer that ended early."""
        message = self._message(message_id)
        if message is not None and message.role == "assistant" and self._is_free():
            self._answering.ask(Ask(message.conversation_id, message.id, is_continuation=True))

    def edit(self, message_id: int | None = None) -> None:
        """Write a user's message anew; None is the last one."""
        messages = self._shown.messages()
        of_user = [each for each in messages if each.role == "user"]
        wanted = [each for each in of_user if message_id in (None, each.id)]
        if wanted:
            self.edit_wanted.emit(wanted[-1])

    def choose_version(self, message_id: int) -> None:
        """Show another version of a message, with what follows it."""
        self._change(lambda: self._store.choose_version(message_id))

    def _is_free(self) -> bool:
        conversation_id = self._shown.conversation_id
        is_free = conversation_id is not None and self._answering.is_free(conversation_id)
        if conversation_id is not None and not is_free:
            self.said.emit(_BUSY, "", None)
        return is_free

    # --- deleting -----------------------------------------------------------------------------

    def delete(self, message_id: int) -> None:
        """Delete a message and what follows it; the user can take that back."""
        messages = self._shown.messages()
        place = _place(messages, message_id)
        if place < 0:
            return
        conversation_id = messages[place].conversation_id
        self._answering.forget(conversation_id)
        if not self._change(lambda: self._store.delete_message(message_id)):
            return
        following = len(messages) - place - 1
        words = "The message was deleted."
        if following:
            words = f"The message and the {following} after it were deleted."
        self.said.emit(words, "Undo", lambda: self.restore(message_id))

    def restore(self, message_id: int) -> None:
        """Take a deletion back."""
        self._change(lambda: self._store.restore_message(message_id))

    def _change(self, change: Callable[[], None]) -> bool:
        try:
            change()
        except HistoryError as error:
            self.fault.emit(error)
            return False
        self.changed.emit()
        return True

    # --- looking ------------------------------------------------------------------------------

    def copy(self, message_id: int | None = None, is_plain: bool = False) -> None:
        """The message as Markdown or without its marks, also while it streams; never its thinking."""
        message = self._message(message_id)
        if message is not None:
            text = message.text if message.role == "user" else without_thinking(message.text)
            # a user's message was written and is shown as plain text
            is_marked = is_plain and message.role == "assistant"
            QGuiApplication.clipboard().setText(plain_text(text) if is_marked else text)

    def show_details(self, message_id: int | None = None) -> None:
        """Open the dialog with everything known about a message."""
        message = self._message(message_id)
        if message is not None:
            dialog = DetailsDialog(message, self._window)
            dialog.copy_wanted.connect(lambda is_plain: self.copy(message.id, is_plain))
            dialog.open()

    def _message(self, message_id: int | None) -> Message | None:
        messages = self._shown.messages()
        if message_id is None:
            answers = [each for each in messages if each.role == "assistant"]
            return answers[-1] if answers else None
        return next((each for each in messages if each.id == message_id), None)


def _place(messages: list[Message], message_id: int) -> int:
    """-1 if it isn't shown any more."""
    return next((place for place, each in enumerate(messages) if each.id == message_id), -1)
