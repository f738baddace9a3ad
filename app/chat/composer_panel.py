"""Below the conversation: the message being written with its files, and the context meter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.chat.attachment_bar import AttachmentBar
from app.chat.attachment_files import AttachmentRefusedError, read_attachment
from app.chat.composer import Composer
from app.chat.context_meter import ContextMeter
from app.chat.edit_banner import EditBanner
from app.chat.outgoing import Outgoing
from app.history.records import Attachment
from app.notice_bar import NoticeBar

_MOST_ATTACHMENTS = 20


class ComposerPanel(QWidget):
    """`submitted` when the message should be sent, `changed` after every change of it by anybody,
    `attached` with each file that was added, `edit_cancelled` when the user leaves an edit.
    """

    submitted = Signal()
    changed = Signal()
    attached = Signal(object)
    edit_cancelled = Signal()

    def __init__(self, sends_with_ctrl: Callable[[], bool], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.composer = Composer(None, sends_with_ctrl)
        self.attachments, self.meter = AttachmentBar(), ContextMeter()
        self.notice, self._editing = NoticeBar(), EditBanner()
        self._attach, self._send = QPushButton("Attach…"), QPushButton("Send")
        self._build_layout()
        self._connect()
        self._changed()

    def _build_layout(self) -> None:
        self._attach.setToolTip("Attach text files; they can also be dropped or pasted here")
        self._send.setToolTip("Send the message")
        buttons = QVBoxLayout()
        buttons.addWidget(self._send)
        buttons.addWidget(self._attach)
        buttons.addStretch(1)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self.composer, 1)
        row.addLayout(buttons)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        for widget in (self._editing, self.notice, self.attachments):
            layout.addWidget(widget)
        layout.addLayout(row)
        layout.addWidget(self.meter)

    def _connect(self) -> None:
        self._send.clicked.connect(self.composer.submit)
        self._attach.clicked.connect(self.choose_files)
        self.composer.submitted.connect(self._submit)
        self.composer.textChanged.connect(self._changed)
        self.composer.files_given.connect(self.attach)
        self.attachments.changed.connect(self._changed)
        self._editing.cancelled.connect(self.edit_cancelled)

    # --- content ------------------------------------------------------------------------------

    @property
    def outgoing(self) -> Outgoing:
        """What would be sent."""
        return Outgoing(self.composer.toPlainText(), self.attachments.attachments)

    def show_outgoing(self, outgoing: Outgoing) -> None:
        """Replace what is being written."""
        self.attachments.show_attachments(outgoing.attachments)
        self.composer.setPlainText(outgoing.text)
        self.price_again()
        self._changed()

    def give_back(self, outgoing: Outgoing) -> None:
        """Put a message before what is being written."""
        now = self.outgoing
        text = "\n\n".join(part for part in (outgoing.text, now.text) if part.strip())
        self.show_outgoing(Outgoing(text, (*outgoing.attachments, *now.attachments)))
        self.composer.moveCursor(self.composer.textCursor().MoveOperation.End)

    def price_again(self) -> None:
        """Have all files counted anew."""
        for attachment in self.attachments.attachments:
            self.attached.emit(attachment)

    def show_editing(self, is_editing: bool) -> None:
        """Say that sending makes a new version of an earlier message."""
        self._editing.setVisible(is_editing)
        self._send.setText("Send new version" if is_editing else "Send")

    def say(self, words: str, action_text: str = "", action: Callable[[], None] | None = None) -> None:
        """A line of news above the composer."""
        self.notice.show_notice(words, action_text, action)

    def dismiss_notice(self) -> None:
        """The news is old."""
        self.notice.dismiss()

    @property
    def is_editing(self) -> bool:
        return self._editing.isVisibleTo(self)

    # --- files --------------------------------------------------------------------------------

    def choose_files(self) -> None:
        """Ask for files to attach."""
        paths, _ = QFileDialog.getOpenFileNames(self, "Attach text files")
        self.attach([Path(path) for path in paths])

    def attach(self, paths: Sequence[Path]) -> None:
        """Add text files; what can't be attached is said in words."""
        refused: list[str] = []
        for path in paths:
            try:
                self._add(read_attachment(path))
            except AttachmentRefusedError as error:
                refused.append(str(error))
        if refused:
            self.say("\n".join(refused))
        self._changed()

    def _add(self, attachment: Attachment) -> None:
        if len(self.attachments.chips) >= _MOST_ATTACHMENTS:
            raise AttachmentRefusedError(
                f"“{attachment.name}” is one too many: a message takes {_MOST_ATTACHMENTS} files.",
                "Send these first.",
            )
        if attachment not in self.attachments.attachments:
            self.attachments.add(attachment)
            self.attached.emit(attachment)

    def _submit(self) -> None:
        if not self.outgoing.is_blank:
            self.submitted.emit()

    def _changed(self) -> None:
        self._send.setEnabled(not self.outgoing.is_blank)
        self.changed.emit()
