"""The chat feature: conversation view, list of conversations, and what connects them to the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, QSettings, Signal

from app.chat.answering import AnswerEngine, Answering
from app.chat.conversation_list import ConversationList
from app.chat.conversation_view import ConversationView
from app.history.errors import HistoryError
from app.history.records import Conversation
from app.history.store import HistoryStore
from engine.events import EngineState, Event, ModelLoaded, ModelUnloaded, StateChanged


class Chat(QObject):
    """Owns the chat's widgets; the window places `view` and `conversations`. GUI thread.

    `opened` says that a conversation is shown, `deleted` carries id and title for an undo,
    `fault` a HistoryError.
    """

    opened = Signal()
    deleted = Signal(int, str)
    fault = Signal(object)

    def __init__(self, store: HistoryStore, engine: AnswerEngine, settings: QSettings) -> None:
        super().__init__()
        self._store = store
        self._is_finished = False
        self.answering = Answering(store, engine)
        self.view = ConversationView(store, self.answering, settings)
        self.conversations = ConversationList()
        self._connect()
        self.show_list()

    def _connect(self) -> None:
        self.answering.fault.connect(self.fault)
        self.view.fault.connect(self.fault)
        self.view.changed.connect(self.show_list)
        self.view.moved.connect(self.open)
        self.conversations.chosen.connect(self.open)
        self.conversations.new_wanted.connect(self.begin_new)
        self.conversations.renamed.connect(self.rename)
        self.conversations.search_changed.connect(lambda _text: self.show_list())

    def apply(self, events: Sequence[Event]) -> None:
        """Take the engine's events in order."""
        for event in events:
            if isinstance(event, StateChanged):
                self.view.is_loading = event.state is EngineState.LOADING
                self.view.show_activity()
        self.answering.apply(events)
        if any(isinstance(event, ModelLoaded | ModelUnloaded) for event in events):
            self.view.model_changed()

    def show_list(self) -> None:
        """Read the list, or the search results, anew."""
        if self._is_finished:
            return
        try:
            text = self.conversations.search_text
            current_id = self.view.conversation_id
            if text:
                self.conversations.show_hits(self._store.search(text), current_id)
            else:
                self.conversations.show_conversations(
                    self._store.conversations(), current_id, self.answering.busy_conversations
                )
        except HistoryError as error:
            self.fault.emit(error)

    def open(self, conversation_id: int) -> None:
        """Show a conversation."""
        if conversation_id != self.view.conversation_id:
            self.view.show_conversation(conversation_id)
        self.opened.emit()

    def begin_new(self) -> None:
        """An empty page; the conversation is made with its first message."""
        self.view.show_conversation(None)
        self.show_list()
        self.opened.emit()
        self.view.composer.setFocus()

    def rename(self, conversation_id: int, title: str) -> None:
        self._change(lambda: self._store.rename(conversation_id, title))

    def set_pinned(self, conversation_id: int, is_pinned: bool) -> None:
        """Keep it at the top of the list, or no longer."""
        self._change(lambda: self._store.set_pinned(conversation_id, is_pinned))

    def set_folder(self, conversation_id: int, folder: str) -> None:
        """Put it into a folder; empty takes it out."""
        self._change(lambda: self._store.set_folder(conversation_id, folder))

    def duplicate(self, conversation_id: int) -> None:
        """Copy it with all its branches and settings, and show the copy."""
        copies: list[Conversation] = []
        if self._change(lambda: copies.append(self._store.duplicate(conversation_id))):
            self.open(copies[0].id)
            self.show_list()

    def settings_changed(self) -> None:
        """The settings of the shown conversation, a preset or the program's are others now."""
        self.view.settings_changed()

    def _change(self, change: Callable[[], object]) -> bool:
        try:
            change()
        except HistoryError as error:
            self.fault.emit(error)
            return False
        finally:
            self.show_list()
        return True

    def delete(self, conversation_id: int) -> None:
        """Hide the conversation and stop its answer; `restore` takes it back."""
        try:
            title = next(
                (each.title for each in self._store.conversations() if each.id == conversation_id), ""
            )
            self._store.delete(conversation_id)
        except HistoryError as error:
            self.fault.emit(error)
            return
        self.answering.forget(conversation_id)
        if conversation_id == self.view.conversation_id:
            self.view.show_conversation(None)
        self.show_list()
        self.deleted.emit(conversation_id, title)

    def restore(self, conversation_id: int) -> None:
        """Undo a deletion."""
        try:
            self._store.restore(conversation_id)
        except HistoryError as error:
            self.fault.emit(error)
            return
        self.show_list()
        self.open(conversation_id)
        self.show_list()

    def finish(self) -> None:
        """Before the program ends: save drafts, and every running answer as interrupted."""
        self._is_finished = True
        self.view.finish()
        self.answering.interrupt_all()
