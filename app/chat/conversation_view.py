"""The conversation on the screen: messages, activity and composer."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QSettings, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.chat.activity_bar import ActivityBar
from app.chat.answering import Answering
from app.chat.composer import Composer
from app.chat.drafts import Drafts
from app.chat.prompt_messages import title_of
from app.chat.transcript import Transcript
from app.history.errors import HistoryError
from app.history.records import Message
from app.history.store import HistoryStore

_HINT = "Ask something. The answer appears here while it is made."
_NO_MODEL = "No model is loaded. Open one with Ctrl+O to get an answer."


class ConversationView(QWidget):
    """Shows one conversation (None: a new one) whatever runs in the others.

    `changed` says that the list of conversations is no longer true.
    """

    changed = Signal()
    fault = Signal(object)

    def __init__(self, store: HistoryStore, answering: Answering, settings: QSettings) -> None:
        super().__init__()
        self.conversation_id: int | None = None
        self.is_loading = False
        self._store = store
        self._answering = answering
        self._drafts = Drafts(settings)
        self.transcript, self.composer, self.activity = Transcript(), Composer(), ActivityBar()
        self._send = QPushButton("Send")
        self._build_layout()
        self._connect()
        self._show()

    def _build_layout(self) -> None:
        self._send.setToolTip("Send the message (Enter)")
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.composer, 1)
        row.addWidget(self._send)
        bottom = QVBoxLayout()
        bottom.setContentsMargins(12, 4, 12, 12)
        bottom.setSpacing(6)
        bottom.addWidget(self.activity)
        bottom.addLayout(row)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.transcript, 1)
        layout.addLayout(bottom)

    def _connect(self) -> None:
        self._send.clicked.connect(self.composer.submit)
        self.composer.submitted.connect(self.send)
        self.composer.textChanged.connect(self._text_changed)
        self.activity.stop_wanted.connect(self.stop)
        self.transcript.copy_wanted.connect(self.copy_message)
        self.transcript.again_wanted.connect(self.answer_again)
        self.transcript.colours_changed.connect(self.refresh)
        self._answering.begun.connect(self._begun)
        self._answering.text_added.connect(self._text_added)
        self._answering.ended.connect(self._ended)
        self._answering.progressed.connect(self._progressed)

    # --- commands -----------------------------------------------------------------------------

    def show_conversation(self, conversation_id: int | None) -> None:
        """Switch; drafts and running answers stay with their conversations."""
        self._keep_draft()
        self.conversation_id = conversation_id
        self._show()

    def _show(self) -> None:
        self.transcript.show_messages(self._messages(), self._live(), _HINT)
        self.composer.setPlainText(self._drafts.text(self.conversation_id))
        self.show_activity()

    def send(self, text: str) -> None:
        """Save the message, then ask for the answer; the draft stays if saving fails."""
        try:
            if self.conversation_id is None:
                self._begin_conversation(text)
            if self.conversation_id is None:
                return
            message = self._store.add_user_message(self.conversation_id, text)
        except HistoryError as error:
            self.fault.emit(error)
            return
        self.composer.clear()
        self._keep_draft()
        self.transcript.add_message(message)
        self.transcript.jump_to_end()
        self._answering.ask(self.conversation_id)
        self.show_activity()
        self.changed.emit()

    def _begin_conversation(self, text: str) -> None:
        self._drafts.keep(None, "")
        self.conversation_id = self._store.create_conversation(title_of(text)).id

    def stop(self) -> None:
        """Stop the answer, or what waits for one."""
        self._answering.stop(self.conversation_id)

    def answer_again(self) -> None:
        """Ask for another answer to the last message."""
        if self.conversation_id is not None and self._answering.run_of(self.conversation_id) is None:
            self._answering.ask(self.conversation_id)
            self.show_activity()

    def copy_message(self, message_id: int) -> None:
        """Put the message's own text (Markdown) on the clipboard, also while it streams."""
        live = self._live()
        for message in self._messages():
            if message.id == message_id:
                shown = live if live is not None and live.id == message_id else message
                QGuiApplication.clipboard().setText(shown.text)

    def copy_last_answer(self) -> None:
        answers = [message.id for message in self._messages() if message.role == "assistant"]
        if answers:
            self.copy_message(answers[-1])

    def refresh(self) -> None:
        """Write the transcript anew, in the colours and font of now."""
        self.transcript.refresh(self._messages(), self._live())

    def keep_draft(self) -> None:
        """Before the program ends."""
        self._keep_draft()

    def show_activity(self) -> None:
        """What happens for this conversation, in words."""
        run = self._answering.run_of(self.conversation_id)
        is_waiting = self._answering.is_waiting(self.conversation_id)
        words = ""
        if run is not None:
            words = run.progress + (" · your next message is answered after this" if is_waiting else "")
        elif is_waiting:
            words = "Waiting for the model to load…" if self.is_loading else _NO_MODEL
        self.activity.show_activity(words, can_stop=run is not None or is_waiting)
        self._text_changed()

    # --- what the answering says --------------------------------------------------------------

    def _begun(self, conversation_id: int) -> None:
        run = self._answering.run_of(conversation_id)
        if conversation_id == self.conversation_id and run is not None:
            self.transcript.add_message(run.message, is_live=True)
        self._progressed(conversation_id)
        self.changed.emit()

    def _text_added(self, conversation_id: int, text: str) -> None:
        if conversation_id == self.conversation_id:
            self.transcript.append_text(text)

    def _ended(self, message: Message) -> None:
        if message.conversation_id == self.conversation_id:
            self.transcript.end_answer(message)
            self._announce("Answer finished." if message.status == "complete" else "Answer ended.")
        self._progressed(message.conversation_id)
        self.changed.emit()

    def _progressed(self, conversation_id: int) -> None:
        if conversation_id == self.conversation_id:
            self.show_activity()

    def _announce(self, words: str) -> None:
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self.transcript, words))

    def _text_changed(self) -> None:
        is_blank = not self.composer.toPlainText().strip()
        self._send.setEnabled(not is_blank)

    def _messages(self) -> list[Message]:
        if self.conversation_id is None:
            return []
        try:
            return self._store.messages(self.conversation_id)
        except HistoryError as error:
            self.fault.emit(error)
            return []

    def _live(self) -> Message | None:
        run = self._answering.run_of(self.conversation_id)
        return None if run is None else replace(run.message, text=run.text)

    def _keep_draft(self) -> None:
        self._drafts.keep(self.conversation_id, self.composer.toPlainText())
