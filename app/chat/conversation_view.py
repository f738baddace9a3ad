"""The conversation on the screen: messages, queue, activity and composer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSettings, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.chat.activity_bar import ActivityBar
from app.chat.answering import Answering
from app.chat.ask import TooLong
from app.chat.composer import Composer, text_files
from app.chat.composer_panel import ComposerPanel
from app.chat.context_watch import ContextWatch
from app.chat.drafts import Drafts
from app.chat.message_actions import MessageActions
from app.chat.outgoing import Outgoing
from app.chat.overflow import Overflow
from app.chat.prompt_messages import prompt_messages
from app.chat.queue_panel import QueuePanel
from app.chat.run_settings import run_settings
from app.chat.sending import Sending
from app.chat.shown_branch import ShownBranch
from app.chat.transcript import Transcript
from app.chat.writing import Writing
from app.history.errors import HistoryError
from app.history.records import COMPLETE, LEAF, ChatSettings, Message
from app.history.store import HistoryStore
from engine.config import ChatMessage
from engine.errors import EngineError

SEND_WITH_CTRL = "composer/send_with_ctrl"
_NO_MODEL = "No model is loaded. Open one with Ctrl+O to get an answer."
_TOO_LONG = "The conversation doesn’t fit the context window."


class ConversationView(QWidget):
    """Shows one conversation (None: a new one) whatever runs in the others.

    `changed` says that the list of conversations is no longer true, `moved` carries a conversation that was
    begun for a message that didn't fit its old one.
    """

    changed = Signal()
    moved = Signal(int)
    fault = Signal(object)

    def __init__(self, store: HistoryStore, answering: Answering, settings: QSettings) -> None:
        super().__init__()
        self.is_loading = False
        # what a conversation that isn't begun yet will be sent with
        self.pending_levels: Callable[[], Sequence[ChatSettings]] = tuple
        self._store = store
        self._answering = answering
        self._settings = settings
        drafts = Drafts(store)
        self.transcript, self.activity, self.queue = Transcript(), ActivityBar(), QueuePanel()
        self.panel = ComposerPanel(self._sends_with_ctrl)
        self.sending = Sending(store, answering, drafts)
        self.overflow = Overflow(store, answering, self.sending, settings, self)
        self.branch = ShownBranch(store, answering, self.sending, self.transcript)
        self.message_actions = MessageActions(store, answering, self.branch, self)
        self.writing = Writing(drafts, self.panel, self.branch)
        self.context = ContextWatch(self.panel.meter, answering.counter, self._prompt)
        self.setAcceptDrops(True)
        self._build_layout()
        self._connect()
        self._connect_transcript()
        self._show(None)

    @property
    def conversation_id(self) -> int | None:
        """The shown conversation; None is one that isn't begun yet."""
        return self.branch.conversation_id

    @property
    def composer(self) -> Composer:
        return self.panel.composer

    def _build_layout(self) -> None:
        bottom = QVBoxLayout()
        bottom.setContentsMargins(12, 4, 12, 12)
        bottom.setSpacing(6)
        for widget in (self.activity, self.queue, self.panel):
            bottom.addWidget(widget)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.transcript, 1)
        layout.addLayout(bottom)

    def _connect(self) -> None:
        self.panel.submitted.connect(self.send)
        self.panel.changed.connect(self.context.touch)
        self.panel.attached.connect(lambda each: self.context.price(each, self.panel.attachments))
        self.activity.stop_wanted.connect(self.stop)
        self.queue.remove_wanted.connect(lambda index: self._take_queued(index, is_edited=False))
        self.queue.edit_wanted.connect(lambda index: self._take_queued(index, is_edited=True))
        self.queue.resume_wanted.connect(self._resume_queue)
        self.message_actions.changed.connect(self._branch_changed)
        self.message_actions.edit_wanted.connect(self.writing.begin_edit)
        self.message_actions.said.connect(self.panel.say)
        self.branch.changed.connect(self._branch_moved_on)
        self.sending.queue_changed.connect(self._progressed)
        self.overflow.given_back.connect(self._given_back)
        self.overflow.moved.connect(self.moved)
        self.overflow.remembered.connect(self._say_remembered)
        for part in (self.branch, self.writing, self.message_actions, self.sending, self.overflow):
            part.fault.connect(self.fault)
        self._answering.progressed.connect(self._progressed)
        self._answering.too_long.connect(self._too_long)

    def _connect_transcript(self) -> None:
        transcript, actions = self.transcript, self.message_actions
        transcript.copy_wanted.connect(actions.copy)
        transcript.again_wanted.connect(actions.answer_again)
        transcript.edit_wanted.connect(actions.edit)
        transcript.continue_wanted.connect(actions.continue_answer)
        transcript.delete_wanted.connect(actions.delete)
        transcript.details_wanted.connect(actions.show_details)
        transcript.version_wanted.connect(actions.choose_version)
        transcript.colours_changed.connect(self.branch.refresh)

    # --- showing ------------------------------------------------------------------------------

    def show_conversation(self, conversation_id: int | None) -> None:
        """Switch; drafts, queues and running answers stay with their conversations."""
        self.writing.leave()
        self._show(conversation_id)

    def _show(self, conversation_id: int | None) -> None:
        self.panel.dismiss_notice()
        self.branch.show(conversation_id)
        self.writing.show()
        self.show_activity()
        self.overflow.conversation_shown(self.conversation_id)

    def show_activity(self) -> None:
        """What happens for this conversation, in words."""
        run = self._answering.run_of(self.conversation_id)
        is_waiting = self._answering.is_waiting(self.conversation_id)
        is_held = self._answering.held_of(self.conversation_id) is not None
        words = _TOO_LONG if is_held else ""
        if run is not None:
            words = run.progress
        elif is_waiting:
            has_model = self._answering.has_model
            words = "Counting tokens…" if has_model else _NO_MODEL
            words = "Waiting for the model to load…" if self.is_loading else words
        self.activity.show_activity(words, can_stop=run is not None or is_waiting or is_held)
        self.queue.show_queue(
            self.sending.queued(self.conversation_id), self.sending.is_paused(self.conversation_id)
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.composer.fit_height()

    # --- sending ------------------------------------------------------------------------------

    def send(self) -> None:
        """Save what is in the composer and have it answered, now or in its turn; it stays if saving fails."""
        outgoing, edited = self.panel.outgoing, self.writing.edited
        if outgoing.is_blank:
            return
        if edited is not None:
            if self.sending.send_edited(edited, outgoing):
                self.writing.cancel_edit()
            return
        if self.conversation_id is None and not self._begin_conversation(outgoing):
            return
        # stored before it leaves the composer
        if self.conversation_id is not None and self.sending.send(self.conversation_id, outgoing):
            self.panel.dismiss_notice()
            self.panel.show_outgoing(Outgoing())
            self.writing.keep()
            self.changed.emit()

    def _begin_conversation(self, outgoing: Outgoing) -> bool:
        self.branch.conversation_id = self.sending.begin_conversation(outgoing)
        if self.conversation_id is not None:
            self.writing.put(None, Outgoing())
        return self.conversation_id is not None

    def stop(self) -> None:
        """Stop the answer, or what waits for one; what is queued waits until the user sends it."""
        self.sending.pause(self.conversation_id)
        self._answering.stop(self.conversation_id)

    def _resume_queue(self) -> None:
        if self.conversation_id is not None:
            self.sending.resume(self.conversation_id)

    def _take_queued(self, index: int, is_edited: bool) -> None:
        if self.conversation_id is None:
            return
        outgoing = self.sending.remove(self.conversation_id, index)
        if outgoing is not None and is_edited:
            self.panel.give_back(outgoing)
            self.composer.setFocus()

    def _given_back(self, conversation_id: int, outgoing: Outgoing) -> None:
        """A message that was not answered returns to where it was written."""
        if conversation_id == self.conversation_id:
            self._branch_changed()
            self.panel.give_back(outgoing)

    # --- figures ------------------------------------------------------------------------------

    def _prompt(self) -> list[ChatMessage]:
        """What would be sent now; empty without a model or in an empty conversation without a text."""
        outgoing, messages = self.panel.outgoing, self.writing.messages_before()
        is_nothing = outgoing.is_blank and not messages
        if is_nothing or not self._answering.has_model:
            return []
        try:
            settings = run_settings(
                self._store, self.conversation_id, self._answering.sampling, self.pending_levels()
            )
        except (HistoryError, EngineError):
            return []  # sending says what is wrong
        # without a text an answer could not be begun: a letter stands for the next message
        text = outgoing.text if not outgoing.is_blank else "x"
        draft = Message(LEAF, LEAF, "user", text, COMPLETE, 0.0, None, attachments=outgoing.attachments)
        return settings.messages(prompt_messages([*messages, draft]))

    def _sends_with_ctrl(self) -> bool:
        return bool(self._settings.value(SEND_WITH_CTRL, False, bool))

    # --- what happens -------------------------------------------------------------------------

    def _branch_moved_on(self, conversation_id: int) -> None:
        """A message was sent, an answer began or ended, here or in another conversation."""
        if conversation_id == self.conversation_id:
            self.show_activity()
            self.context.touch()
        self.changed.emit()

    def _branch_changed(self) -> None:
        """Messages came, went or gave way to other versions."""
        self.writing.check_edit()
        self.branch.refresh()
        self.show_activity()
        self.context.touch()
        self.changed.emit()

    def _too_long(self, too_long: TooLong) -> None:
        self.overflow.decide(too_long, too_long.ask.conversation_id == self.conversation_id)

    def _say_remembered(self, conversation_id: int, words: str) -> None:
        self.panel.say(words, "Ask next time", lambda: self.overflow.ask_next_time(conversation_id))

    def _progressed(self, conversation_id: int) -> None:
        if conversation_id == self.conversation_id:
            self.show_activity()

    # --- actions of the window ----------------------------------------------------------------

    def refresh(self) -> None:
        """Write the transcript anew, in the colours and font of now."""
        self.branch.refresh()

    def answer_again(self) -> None:
        """Another answer to the last message."""
        self.message_actions.answer_again()

    def model_changed(self) -> None:
        """Another model counts other tokens."""
        self.settings_changed()
        self.panel.price_again()

    def settings_changed(self) -> None:
        """The prompt or the keys may be others now."""
        self.composer.show_hint()
        self.context.touch()

    def finish(self) -> None:
        """The program ends."""
        self.writing.keep()
        self.context.stop()

    def copy_last_answer(self) -> None:
        """Put it on the clipboard as Markdown."""
        self.message_actions.copy()

    # --- dropped files ------------------------------------------------------------------------

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Text files anywhere on the conversation; a model is left to the window."""
        if text_files(event.mimeData()):
            event.acceptProposedAction()
        else:
            event.ignore()

    def dropEvent(self, event: QDropEvent) -> None:
        files = text_files(event.mimeData())
        if files:
            event.acceptProposedAction()
            self.panel.attach(files)
        else:
            event.ignore()
