"""What is being written in the shown conversation: its draft, or an earlier message that is edited."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal

from app.chat.composer_panel import ComposerPanel
from app.chat.drafts import Drafts
from app.chat.outgoing import Outgoing, outgoing_of
from app.chat.shown_branch import ShownBranch
from app.history.errors import HistoryError
from app.history.records import Message

_DRAFT_SAVE_MS = 800


class Writing(QObject):
    """Keeps the draft a moment after the last key; an edit waits with its conversation. GUI thread."""

    fault = Signal(object)

    def __init__(self, drafts: Drafts, panel: ComposerPanel, branch: ShownBranch) -> None:
        super().__init__()
        self._drafts = drafts
        self._panel = panel
        self._branch = branch
        self.edited: Message | None = None
        self._left_edits: dict[int, tuple[Message, Outgoing]] = {}
        self._timer = QTimer(self, singleShot=True, interval=_DRAFT_SAVE_MS)
        self._timer.timeout.connect(self.keep)
        panel.changed.connect(self._changed)
        panel.edit_cancelled.connect(self.cancel_edit)

    def leave(self) -> None:
        """Before another conversation is shown."""
        self.keep()
        if self.edited is not None:
            self._left_edits[self.edited.conversation_id] = self.edited, self._panel.outgoing

    def show(self) -> None:
        """The branch is another conversation's now: show its draft, or the edit that was left in it."""
        self._end_edit()
        self._panel.show_outgoing(self._draft())
        edit = self._left_edits.pop(self._branch.conversation_id or 0, None)
        if edit is not None and self._is_shown(edit[0]):
            self.begin_edit(edit[0])
            self._panel.show_outgoing(edit[1])

    def begin_edit(self, message: Message) -> None:
        """Put a user's message into the composer; the draft waits in the store."""
        self.keep()
        self.edited = message
        self._panel.show_editing(True)
        self._panel.show_outgoing(outgoing_of(message))
        self._panel.composer.setFocus()

    def cancel_edit(self) -> None:
        """Back to the draft."""
        self._end_edit()
        self._panel.show_outgoing(self._draft())
        self._panel.composer.setFocus()

    def check_edit(self) -> None:
        """An edit ends with its message: deleted, or left for another version."""
        if self.edited is not None and not self._is_shown(self.edited):
            self.cancel_edit()

    def keep(self) -> None:
        """Save the draft; while a message is edited, it is what was there before."""
        self._timer.stop()
        if self.edited is None:
            self.put(self._branch.conversation_id, self._panel.outgoing)

    def put(self, conversation_id: int | None, outgoing: Outgoing) -> None:
        """Replace the draft of a conversation."""
        try:
            self._drafts.put_outgoing(conversation_id, outgoing)
        except HistoryError as error:
            self.fault.emit(error)

    def messages_before(self) -> list[Message]:
        """The turns that what is being written follows."""
        messages = self._branch.messages()
        if self.edited is not None and self._is_shown(self.edited):
            messages = messages[: [each.id for each in messages].index(self.edited.id)]
        return messages

    def _is_shown(self, message: Message) -> bool:
        return any(each.id == message.id for each in self._branch.messages())

    def _end_edit(self) -> None:
        self.edited = None
        self._panel.show_editing(False)

    def _draft(self) -> Outgoing:
        try:
            return self._drafts.draft(self._branch.conversation_id).outgoing
        except HistoryError as error:
            self.fault.emit(error)
            return Outgoing()

    def _changed(self) -> None:
        if self.edited is None:
            self._timer.start()
