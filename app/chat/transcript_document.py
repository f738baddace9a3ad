"""Writes messages into the transcript's document: who spoke, what, how it ended, its figures."""

from __future__ import annotations

from PySide6.QtGui import (
    QFont,
    QPalette,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextDocumentFragment,
    QTextFrameFormat,
)

from app.chat.answer_words import ending_words, stats_words
from app.chat.markdown_split import complete_length
from app.chat.markdown_text import TextColours, link_format, markdown_document
from app.history.records import FAILED, Message

COPY, COPY_CODE, AGAIN, EARLIER = "copy", "code", "again", "earlier"
SCHEME = "emberglass"
_GAP = 18


def own_link(action: str, number: int = 0) -> str:
    """The address of one of the program's own links."""
    return f"{SCHEME}:{action}/{number}"


class TranscriptDocument:
    """Appends to a QTextDocument; only one answer streams at a time, in its place among later messages.

    Of a streaming answer, finished blocks are rendered once as they end, the rest stays plain text.
    """

    def __init__(self, document: QTextDocument) -> None:
        self.codes: list[str] = []
        self._document = document
        self._colours = TextColours.of(QPalette())
        self._font = QFont()
        self._body: tuple[QTextCursor, QTextCursor] | None = None
        self._ending: QTextCursor | None = None
        self._rendered, self._tail, self._tail_start = "", "", QTextCursor(document)
        self._has_offer = False

    def clear(self, palette: QPalette, font: QFont) -> None:
        """Empty the document; what follows is written in these colours and this font."""
        self._document.clear()
        self._document.setDefaultFont(font)
        self._colours, self._font = TextColours.of(palette), font
        self.codes.clear()
        self._body = self._ending = None
        self._has_offer = False

    def add_link_line(self, text: str, target: str) -> None:
        """A line of its own with one of the program's links."""
        self._new_block(_GAP).insertText(text, link_format(self._colours, target))

    def add_offer(self, text: str, target: str) -> None:
        """A link line that goes away with the next message."""
        self.add_link_line(text, target)
        self._has_offer = True

    def _drop_offer(self) -> None:
        if self._has_offer:
            self._has_offer = False
            cursor = QTextCursor(self._document)
            cursor.movePosition(QTextCursor.MoveOperation.End)
            cursor.select(QTextCursor.SelectionType.BlockUnderCursor)
            cursor.removeSelectedText()

    def add_user(self, message: Message) -> None:
        """What the user wrote, in a frame, as plain text."""
        self._drop_offer()
        cursor = self._new_block(0)
        cursor.setBlockFormat(_thin())  # a frame leaves an empty line before itself
        frame_format = QTextFrameFormat()
        frame_format.setBackground(self._colours.user)
        frame_format.setPadding(10)
        frame_format.setTopMargin(_GAP)
        frame_format.setBottomMargin(10)
        cursor.insertFrame(frame_format)
        self._add_name(cursor, "You", message.id)
        cursor.insertBlock(_spaced(2), QTextCharFormat())
        cursor.insertText(message.text, self._plain())

    def add_answer(self, message: Message, is_streaming: bool = False) -> None:
        """An answer; a streaming one can be appended to and ended later."""
        self._drop_offer()
        cursor = self._new_block(_GAP)
        self._add_name(cursor, message.model_name or "Answer", message.id)
        cursor.insertBlock(_spaced(0), self._plain())
        start, end = QTextCursor(cursor), QTextCursor(cursor)
        cursor.insertBlock(_spaced(4), self._muted())
        for body in (start, end):
            body.setPosition(cursor.position() - 1)
        start.setKeepPositionOnInsert(True)
        self._body, self._ending = (start, end), cursor
        self._rendered, self._tail, self._tail_start = "", "", QTextCursor(start)
        self._tail_start.setKeepPositionOnInsert(True)
        if is_streaming:
            self.append_text(message.text)
        else:
            self.end_answer(message)

    def append_text(self, text: str) -> None:
        """More of the streaming answer; what was rendered before is not touched."""
        if self._body is None or not text:
            return
        text = text.replace("\r", "")
        self._body[1].insertText(text, self._plain())
        self._tail += text
        complete = complete_length(self._tail)
        if complete:
            self._render_tail(self._body[1], complete)

    def _render_tail(self, end: QTextCursor, complete: int) -> None:
        """Replace the first `complete` characters of the plain tail by rendered Markdown."""
        part, self._tail = self._tail[:complete], self._tail[complete:]
        self._rendered += part
        cursor = self._selection(self._tail_start, end)
        cursor.beginEditBlock()
        cursor.removeSelectedText()
        self._insert_markdown(cursor, part)
        cursor.insertBlock(_spaced(0), self._plain())
        self._tail_start.setPosition(cursor.position())
        cursor.insertText(self._tail, self._plain())
        cursor.endEditBlock()
        end.setPosition(cursor.position())

    def _selection(self, start: QTextCursor, end: QTextCursor) -> QTextCursor:
        cursor = QTextCursor(self._document)
        cursor.setPosition(start.position())
        cursor.setPosition(end.position(), QTextCursor.MoveMode.KeepAnchor)
        return cursor

    def end_answer(self, message: Message) -> None:
        """Render what is still plain text and say how the answer ended."""
        if self._body is None or self._ending is None:
            return
        is_streamed = bool(self._rendered) and message.text.startswith(self._rendered)
        start = self._tail_start if is_streamed else self._body[0]
        body = self._selection(start, self._body[1])
        body.beginEditBlock()
        body.removeSelectedText()
        self._insert_markdown(body, message.text[len(self._rendered) if is_streamed else 0 :])
        self._write_ending(self._ending, message)
        body.endEditBlock()
        self._body = self._ending = None

    def _insert_markdown(self, cursor: QTextCursor, text: str) -> None:
        document = markdown_document(text, self._font, self._colours, self._code_link)
        first = document.begin()
        if first.textList() is None:
            # a fragment's first block takes the format of the block it lands in
            cursor.setBlockFormat(first.blockFormat())
        cursor.insertFragment(QTextDocumentFragment(document))

    def _code_link(self, code: str) -> str:
        self.codes.append(code)
        return own_link(COPY_CODE, len(self.codes) - 1)

    def _write_ending(self, cursor: QTextCursor, message: Message) -> None:
        ending = ending_words(message.status, message.stats)
        figures = stats_words(message.stats)
        style = self._muted()
        if ending:
            strong = self._muted()
            strong.setFontWeight(QFont.Weight.DemiBold)
            if message.status == FAILED:
                strong.setForeground(self._colours.fault)
            cursor.insertText(ending, strong)
        if ending and figures:
            cursor.insertBlock(_spaced(2), style)
        cursor.insertText(figures, style)

    def _add_name(self, cursor: QTextCursor, name: str, message_id: int) -> None:
        style = self._muted()
        style.setFontWeight(QFont.Weight.DemiBold)
        cursor.insertText(name, style)
        cursor.insertText("   ", self._muted())
        link = link_format(self._colours, own_link(COPY, message_id))
        link.setProperty(QTextCharFormat.Property.FontSizeAdjustment, -1)
        cursor.insertText("Copy", link)

    def _new_block(self, top_margin: int) -> QTextCursor:
        """A cursor in a fresh last block; the empty block that Qt leaves after a frame is used first."""
        cursor = QTextCursor(self._document)
        cursor.movePosition(QTextCursor.MoveOperation.End)
        is_free = cursor.block().length() == 1 and not self._is_kept(cursor.block().position())
        if is_free:
            cursor.setBlockFormat(_spaced(top_margin))
            cursor.setCharFormat(self._plain())
        else:
            cursor.insertBlock(_spaced(top_margin), self._plain())
        return cursor

    def _is_kept(self, position: int) -> bool:
        return self._ending is not None and self._ending.position() == position

    def _plain(self) -> QTextCharFormat:
        style = QTextCharFormat()
        style.setForeground(self._colours.text)
        return style

    def _muted(self) -> QTextCharFormat:
        style = QTextCharFormat()
        style.setForeground(self._colours.muted)
        style.setProperty(QTextCharFormat.Property.FontSizeAdjustment, -1)
        return style


def _thin() -> QTextBlockFormat:
    block_format = QTextBlockFormat()
    block_format.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
    return block_format


def _spaced(top_margin: int) -> QTextBlockFormat:
    block_format = QTextBlockFormat()
    block_format.setTopMargin(top_margin)
    block_format.setBottomMargin(4)
    return block_format
