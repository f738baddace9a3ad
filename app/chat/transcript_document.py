"""Writes messages into the transcript's document: who spoke, what, how it ended, what can be done with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from PySide6.QtGui import (
    QFont,
    QPalette,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFrameFormat,
)

from app.chat.answer_body import AnswerBody, BodyTools, Folds
from app.chat.answer_words import ending_words, stats_words
from app.chat.block_pen import END_ID, IS_USERS, MESSAGE_ID, BlockPen, remove
from app.chat.code_block import CodeBlocks
from app.chat.formula_pictures import FormulaPictures
from app.chat.formula_writer import PictureFormulas
from app.chat.inline_styles import PLAIN, InlineStyles, Look
from app.chat.message_links import write_links
from app.chat.text_colours import TextColours
from app.history.records import FAILED, Attachment, Message
from engine.config import format_size

INDENT_PIXELS = 24
_GAP = 18
_NAME = Look(is_bold=True, is_muted=True, size_step=-1)


class TranscriptManners(Protocol):
    """What the view knows about its reader."""

    @property
    def is_following(self) -> bool: ...

    def keep_place(self, change: Callable[[], None]) -> None: ...


class TranscriptDocument:
    """Appends to a QTextDocument; only one answer grows at a time, in its place among later messages."""

    def __init__(self, document: QTextDocument, pictures: FormulaPictures, view: TranscriptManners) -> None:
        self.folds = Folds()
        self._document = document
        self._pictures = pictures
        self._view = view
        self._live: AnswerBody | None = None
        self._offer: Message | None = None
        document.setIndentWidth(INDENT_PIXELS)
        self._set_look(QPalette(), QFont(), 1.0)

    def clear(self, palette: QPalette, font: QFont, pixel_ratio: float) -> None:
        """Empty the document; what follows is written in these colours and this font."""
        self.codes.painter.stop()
        self._formulas.stop()
        self._document.clear()
        self._document.setDefaultFont(font)
        self._live = self._offer = None
        self._set_look(palette, font, pixel_ratio)

    def _set_look(self, palette: QPalette, font: QFont, pixel_ratio: float) -> None:
        self.colours = TextColours.of(palette)
        self._styles = InlineStyles(self.colours)
        self.codes = CodeBlocks(self._document, self._styles)
        self._formulas = PictureFormulas(
            self._pictures, self._styles, font, pixel_ratio, self._view.keep_place
        )
        self._tools = BodyTools(
            self._styles, self._formulas, self.codes, self.folds, lambda: self._view.is_following
        )

    def add_link_line(self, text: str, target: str) -> None:
        """A line of its own with one of the program's links."""
        self._new_pen(_GAP).cursor.insertText(text, self._styles.own_link(target))

    # --- messages -----------------------------------------------------------------------------

    def add_user(self, message: Message, is_last: bool = False) -> None:
        """What the user wrote, in a frame, as plain text."""
        self._drop_offer()
        cursor = self._new_pen(0).cursor
        cursor.setBlockFormat(_thin())  # a frame leaves an empty line before itself
        cursor.insertFrame(self._user_format())
        self._write_name(cursor, "You", message.id, 0)
        users_format = _spaced(2)
        users_format.setProperty(IS_USERS, True)
        cursor.insertBlock(users_format, self._styles.of(PLAIN))
        cursor.insertText(message.text, self._styles.of(PLAIN))
        self._write_attachments(cursor, message.attachments)
        self._write_end(cursor, message, is_live=False, is_last=is_last)

    def add_answer(self, message: Message, is_live: bool = False, is_last: bool = False) -> None:
        """An answer; a live one can be appended to and ended later."""
        self._drop_offer()
        cursor = self._new_pen(_GAP).cursor
        self._write_name(cursor, message.model_name or "Answer", message.id, _GAP)
        cursor.insertBlock(_spaced(0), self._styles.of(PLAIN))
        pen_cursor = QTextCursor(cursor)
        self._write_end(cursor, message, is_live, is_last)
        pen_cursor.setPosition(self._end_of(message.id).position() - 1)
        body = self._body(pen_cursor, message)
        if is_live:
            self._live = body
            body.append(message.text)
        else:
            body.finish(message.text)

    def append_text(self, text: str) -> None:
        """More of the live answer; what was rendered before is not touched."""
        if self._live is None or not text:
            return
        edit = QTextCursor(self._document)
        edit.beginEditBlock()
        self._live.append(text.replace("\r", ""))
        edit.endEditBlock()

    def end_answer(self, message: Message, is_last: bool) -> None:
        """Render what was held back and say how the answer ended."""
        if self._live is None:
            return
        edit = QTextCursor(self._document)
        edit.beginEditBlock()
        self._live.finish(message.text.replace("\r", ""))
        self._live = None
        self._rewrite_end(message, is_last)
        edit.endEditBlock()

    def toggle_thinking(self, message: Message, place: int, is_live: bool) -> None:
        """Open or close a folded piece of thinking."""
        edit = QTextCursor(self._document)
        edit.beginEditBlock()
        if is_live and self._live is not None:
            self._live.toggle_fold(place)
        else:
            key = (message.id, place)
            self.folds.toggle(key, key in self.folds.opened)
            self._rewrite_body(message)
        edit.endEditBlock()

    def _body(self, cursor: QTextCursor, message: Message) -> AnswerBody:
        seconds = (message.stats or {}).get("thinking_seconds")
        known = float(seconds) if isinstance(seconds, int | float) else None
        return AnswerBody(BlockPen(cursor), self._tools, message.id, known)

    def _rewrite_body(self, message: Message) -> None:
        begin, end = self._name_of(message.id), self._end_of(message.id)
        if not begin.isValid() or not end.isValid():
            return
        cursor = QTextCursor(begin.next())
        cursor.setPosition(end.position() - 1, QTextCursor.MoveMode.KeepAnchor)
        remove(cursor)
        self._body(cursor, message).finish(message.text)

    # --- the end of a message -----------------------------------------------------------------

    def _write_end(self, cursor: QTextCursor, message: Message, is_live: bool, is_last: bool) -> None:
        """How it ended, its figures, its links; each on a line of its own."""
        end_format = _spaced(4)
        end_format.setProperty(END_ID, message.id)
        cursor.insertBlock(end_format, self._styles.own_words())
        for words, style in self._ending(message):
            cursor.insertText(words, style)
            cursor.insertBlock(end_format, self._styles.own_words())
        write_links(cursor, message, self._styles, is_live, is_last)
        if is_last and not is_live:
            self._offer = message

    def _ending(self, message: Message) -> list[tuple[str, QTextCharFormat]]:
        strong = QTextCharFormat(self._styles.own_words())
        strong.setFontWeight(QFont.Weight.DemiBold)
        if message.status == FAILED:
            strong.setForeground(self.colours.fault)
        lines = [
            (ending_words(message.status, message.stats), strong),
            (stats_words(message.stats), self._styles.own_words()),
        ]
        return [line for line in lines if line[0] and message.role == "assistant"]

    def _rewrite_end(self, message: Message, is_last: bool) -> None:
        first = self._end_of(message.id)
        if not first.isValid():
            return
        last = first
        while last.next().blockFormat().intProperty(END_ID) == message.id:
            last = last.next()
        cursor = QTextCursor(first.previous())
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock)
        cursor.setPosition(last.position() + last.length() - 1, QTextCursor.MoveMode.KeepAnchor)
        remove(cursor)
        self._write_end(cursor, message, is_live=False, is_last=is_last)

    def _drop_offer(self) -> None:
        """Some links are only for the last message."""
        if self._offer is not None:
            message, self._offer = self._offer, None
            self._rewrite_end(message, is_last=False)

    # --- pieces -------------------------------------------------------------------------------

    def _write_name(self, cursor: QTextCursor, name: str, message_id: int, top_margin: int) -> None:
        name_format = _spaced(top_margin)
        name_format.setProperty(MESSAGE_ID, message_id)
        cursor.setBlockFormat(name_format)
        cursor.insertText(name, self._styles.of(_NAME))

    def _write_attachments(self, cursor: QTextCursor, attachments: tuple[Attachment, ...]) -> None:
        if not attachments:
            return
        cursor.insertBlock(_spaced(6), self._styles.own_words())
        chip = QTextCharFormat(self._styles.own_words())
        chip.setBackground(self.colours.code)
        chip.setForeground(self.colours.text)
        for attachment in attachments:
            size = format_size(len(attachment.text.encode()))
            cursor.insertText(f"\u00a0{attachment.name} · {size}\u00a0", chip)
            cursor.insertText("  ", self._styles.own_words())

    def _user_format(self) -> QTextFrameFormat:
        frame_format = QTextFrameFormat()
        frame_format.setBackground(self.colours.user)
        frame_format.setPadding(10)
        frame_format.setTopMargin(_GAP)
        frame_format.setBottomMargin(10)
        return frame_format

    def _new_pen(self, top_margin: int) -> BlockPen:
        """A pen in a fresh last block; the empty block that Qt leaves after a frame is used first."""
        cursor = QTextCursor(self._document)
        cursor.movePosition(QTextCursor.MoveOperation.End)
        is_fresh = cursor.block().length() == 1 and not cursor.blockFormat().hasProperty(END_ID)
        pen = BlockPen(cursor, is_fresh)
        pen.block(_spaced(top_margin), self._styles.of(PLAIN))
        return pen

    def _name_of(self, message_id: int) -> QTextBlock:
        return self._block_with(MESSAGE_ID, message_id)

    def _end_of(self, message_id: int) -> QTextBlock:
        """The first block after the text of a message."""
        return self._block_with(END_ID, message_id)

    def _block_with(self, kind: int, message_id: int) -> QTextBlock:
        """From the end, where what changes mostly is; the first of its neighbours of one kind."""
        block = self._document.lastBlock()
        while block.isValid() and block.blockFormat().intProperty(kind) != message_id:
            block = block.previous()
        while block.isValid() and block.previous().blockFormat().intProperty(kind) == message_id:
            block = block.previous()
        return block


def _thin() -> QTextBlockFormat:
    block_format = QTextBlockFormat()
    block_format.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
    return block_format


def _spaced(top_margin: int) -> QTextBlockFormat:
    block_format = QTextBlockFormat()
    block_format.setTopMargin(top_margin)
    block_format.setBottomMargin(4)
    return block_format
