"""The conversation on the screen: one selectable document that follows its end while the reader is there."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QMimeData, QPoint, QRectF, Qt, QUrl, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QDesktopServices,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QTextCursor,
)
from PySide6.QtWidgets import QMenu, QTextBrowser, QWidget

from app.chat.answer_body import FOLD
from app.chat.block_pen import SCHEME, own_link
from app.chat.code_block import COPY_CODE, WRAP_CODE
from app.chat.following_browser import FollowingBrowser
from app.chat.formula_pictures import FormulaPictures
from app.chat.message_links import AGAIN, CONTINUE, COPY, DELETE, DETAILS, EDIT, VERSION
from app.chat.selected_text import selected_text
from app.chat.transcript_backdrop import paint_backdrop
from app.chat.transcript_document import TranscriptDocument
from app.chat.transcript_search import TranscriptSearch
from app.history.records import Message

EARLIER = "earlier"
_WIDEST_TEXT_PIXELS_PER_POINT = 78
_LEAST_MARGIN = 24
# What is written at once when a conversation opens; a link shows more. Keeps the window answering.
_FIRST_CHARACTERS = 40_000
_FIRST_MESSAGES = 40
_CENTRED = int(Qt.AlignmentFlag.AlignCenter) | int(Qt.TextFlag.TextWordWrap)


class Transcript(FollowingBrowser):
    """Shows messages; GUI thread.

    The signals of the links under a message carry its id; `again_wanted` may also carry that of a user's
    message that has no answer, `version_wanted` carries the id of the version to show.
    """

    copy_wanted = Signal(int)
    edit_wanted = Signal(int)
    again_wanted = Signal(int)
    continue_wanted = Signal(int)
    delete_wanted = Signal(int)
    details_wanted = Signal(int)
    version_wanted = Signal(int)
    colours_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Conversation")
        self.setOpenLinks(False)
        self.setUndoRedoEnabled(False)
        self.setFrameShape(QTextBrowser.Shape.NoFrame)
        self.anchorClicked.connect(self._follow_link)
        self._pictures = FormulaPictures(self)
        self._writer = TranscriptDocument(self.document(), self._pictures, self)
        self._search = TranscriptSearch(self)
        self._messages: list[Message] = []
        self._live_id: int | None = None
        self._wanted = {
            COPY: self.copy_wanted,
            EDIT: self.edit_wanted,
            AGAIN: self.again_wanted,
            CONTINUE: self.continue_wanted,
            DELETE: self.delete_wanted,
            DETAILS: self.details_wanted,
            VERSION: self.version_wanted,
        }
        self._shown_limit = 1
        self._empty_hint = ""

    @property
    def is_seen(self) -> bool:
        """Whether what is written now can come to the screen."""
        return not self.viewport().visibleRegion().isEmpty() and not self.window().isMinimized()

    # --- content ------------------------------------------------------------------------------

    def show_messages(
        self, messages: Sequence[Message], live: Message | None = None, empty_hint: str = ""
    ) -> None:
        """Replace everything; `live` is the answer in the making, which also stands in `messages`."""
        self._messages = list(messages)
        self._shown_limit, self._empty_hint = 1, empty_hint
        self._writer.folds.opened.clear()
        self._writer.folds.closed.clear()
        self._set_following(True)
        self._write_all(live)
        self.jump_to_end()

    def refresh(self, messages: Sequence[Message], live: Message | None) -> None:
        """Write everything anew in the same place (after a change of colours, font or messages)."""
        self._messages = list(messages)
        self.keep_place(lambda: self._write_all(live))

    def add_message(self, message: Message, is_live: bool = False) -> None:
        """Append a message; a live answer then takes `append_text` and `end_answer`."""
        self._messages.append(message)
        self._write(message, is_live, is_last=True)

    def append_text(self, text: str) -> None:
        """More of the live answer."""
        self.keep_selection(lambda: self._writer.append_text(text))

    def end_answer(self, message: Message) -> None:
        """The live answer ended as `message` says."""
        self._messages = [message if each.id == message.id else each for each in self._messages]
        self._live_id = None
        is_last = self._messages[-1:] == [message]
        self.keep_selection(lambda: self._writer.end_answer(message, is_last))

    def _write_all(self, live: Message | None) -> None:
        self._live_id = None
        self._writer.clear(self.palette(), self.font(), self.devicePixelRatioF())
        self._fit_margins()
        self.document().setLayoutEnabled(False)
        edit = QTextCursor(self.document())
        edit.beginEditBlock()  # else every piece is announced
        visible = self._visible_messages()
        if len(visible) < len(self._messages):
            hidden = len(self._messages) - len(visible)
            self._writer.add_link_line(f"Show {hidden} earlier messages", own_link(EARLIER))
        for message in visible:
            is_live = live is not None and message.id == live.id
            is_last = message.id == visible[-1].id
            self._write(live if live is not None and is_live else message, is_live, is_last)
        edit.endEditBlock()
        self.document().setLayoutEnabled(True)

    def _visible_messages(self) -> list[Message]:
        room, shown = _FIRST_CHARACTERS * self._shown_limit, 0
        for message in reversed(self._messages):
            room -= len(message.text)
            if shown and (room < 0 or shown >= _FIRST_MESSAGES * self._shown_limit):
                break
            shown += 1
        return self._messages[len(self._messages) - shown :]

    def hidden_messages(self) -> list[Message]:
        """Those before the first that is shown."""
        return self._messages[: len(self._messages) - len(self._visible_messages())]

    def show_from(self, message_id: int) -> None:
        """Show earlier messages, at least from this one on."""
        while any(message.id == message_id for message in self.hidden_messages()):
            self._shown_limit *= 2
        self._show_earlier()

    def search_start(self, backward: bool) -> QTextCursor:
        """The last match, or without one the edge of what the reader sees."""
        corner = self.viewport().rect().bottomRight() if backward else QPoint(0, 0)
        return self.textCursor() if self.textCursor().hasSelection() else self.cursorForPosition(corner)

    def find(self, text: str, backward: object = False) -> bool:  # type: ignore[override] # wider than Qt's
        """Select the next match (or the one before) in the whole conversation, round its ends."""
        return self._search.find(text, bool(backward))

    def match_count(self, text: str) -> int:
        """How many matches there are in the whole conversation."""
        return self._search.match_count(text)

    def _write(self, message: Message, is_live: bool, is_last: bool) -> None:
        if message.role == "user":
            self._writer.add_user(message, is_last)
        else:
            self._live_id = message.id if is_live else self._live_id
            self._writer.add_answer(message, is_live, is_last)

    # --- links --------------------------------------------------------------------------------

    def _follow_link(self, address: QUrl) -> None:
        if address.scheme() != SCHEME:
            QDesktopServices.openUrl(address)
            return
        action, number, part = [*address.path().split("/"), "0", "0"][:3]
        if action in self._wanted:
            self._wanted[action].emit(int(number))
        elif action == COPY_CODE:
            QGuiApplication.clipboard().setText(self._writer.codes.code_of(int(number)))
        elif action == WRAP_CODE:
            self._writer.codes.toggle_wrap(int(number))
        elif action == FOLD:
            self._toggle_thinking(int(number), int(part))
        elif action == EARLIER:
            self._shown_limit *= 2
            self._show_earlier()

    def _toggle_thinking(self, message_id: int, place: int) -> None:
        """The line that was clicked stays where it is."""
        scroll = self.verticalScrollBar().value()
        self._set_following(False)
        for message in self._messages:
            if message.id == message_id:
                self._writer.toggle_thinking(message, place, is_live=message_id == self._live_id)
        self.verticalScrollBar().setValue(scroll)
        self._value_changed(scroll)

    def _show_earlier(self) -> None:
        """What is now to be shown; the line that was on top stays where it was."""
        self._set_following(False)
        live = next((each for each in self._messages if each.status == "streaming"), None)
        self.keep_place(lambda: self._write_all(live))

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        """Only formulas: an answer must not make the window read files or the network."""
        return self._pictures.image(QUrl(name))

    # --- copying ------------------------------------------------------------------------------

    def copy(self) -> None:
        """The selection as plain text, without what is not part of the conversation."""
        self._put(selected_text(self.textCursor()))

    def copy_markdown(self) -> None:
        """The selection as Markdown."""
        self._put(selected_text(self.textCursor(), is_markdown=True))

    def _put(self, text: str) -> None:
        if text:
            QGuiApplication.clipboard().setText(text)

    def createMimeDataFromSelection(self) -> QMimeData:
        """What is dragged elsewhere; colours of this window are of no use there."""
        data = QMimeData()
        data.setText(selected_text(self.textCursor()))
        return data

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
            event.accept()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        has_selection = self.textCursor().hasSelection()
        menu.addAction("&Copy", self.copy).setEnabled(has_selection)
        menu.addAction("Copy as &Markdown", self.copy_markdown).setEnabled(has_selection)
        address = self.anchorAt(event.pos())
        if address and not address.startswith(f"{SCHEME}:"):
            menu.addAction("Copy &link", lambda: self._put(address))
        menu.addSeparator()
        menu.addAction("Select &all", self.selectAll)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(event.globalPos())

    # --- look ---------------------------------------------------------------------------------

    def prepare_width(self) -> None:
        self._fit_margins()

    def look_changed(self) -> None:
        self.colours_changed.emit()

    def _fit_margins(self) -> None:
        """Lines stay readable in a wide window."""
        widest = round(_WIDEST_TEXT_PIXELS_PER_POINT * max(self.font().pointSizeF(), 6))
        margin = max(_LEAST_MARGIN, (self.viewport().width() - widest) // 2)
        frame = self.document().rootFrame()
        frame_format = frame.frameFormat()
        if frame_format.leftMargin() != margin:
            frame_format.setLeftMargin(margin)
            frame_format.setRightMargin(margin)
            frame_format.setBottomMargin(_LEAST_MARGIN)
            frame.setFrameFormat(frame_format)

    def paintEvent(self, event: QPaintEvent) -> None:
        self._paint_backdrop(event)
        super().paintEvent(event)
        if not self._messages and self._empty_hint:
            painter = QPainter(self.viewport())
            painter.setPen(self.palette().placeholderText().color())
            area = self.viewport().rect().adjusted(40, 0, -40, 0)
            painter.drawText(area, _CENTRED, self._empty_hint)

    def _paint_backdrop(self, event: QPaintEvent) -> None:
        left, top = self.horizontalScrollBar().value(), self.verticalScrollBar().value()
        area = QRectF(event.rect()).translated(left, top)
        painter = QPainter(self.viewport())
        painter.translate(-left, -top)
        first = self.cursorForPosition(event.rect().topLeft()).block()
        paint_backdrop(painter, self.document(), first, area, self._writer.colours)
        painter.end()
