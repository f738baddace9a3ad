"""Code blocks: a title with language and links, then one block per line, so that they can grow."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from PySide6.QtGui import QTextBlock, QTextBlockFormat, QTextCursor, QTextDocument

from app.chat.block_pen import CODE_ID, IS_CODE_TITLE, BlockPen, own_link
from app.chat.code_painter import CodePainter
from app.chat.inline_styles import InlineStyles

COPY_CODE, WRAP_CODE = "code", "wrap"
CODE_PADDING = 10
_GAP = "    "


class CodeBlocks:
    """Writes the code blocks of a document and finds them again by their number. GUI thread."""

    def __init__(self, document: QTextDocument, styles: InlineStyles) -> None:
        self._document = document
        self._styles = styles
        self._ids = count(1)
        self.painter = CodePainter(document, styles.colours)

    def write(
        self, pen: BlockPen, code: str, language: str, base: QTextBlockFormat, is_finished: bool = True
    ) -> int:
        """Write a block and return its number; `base` says where it stands. Finished code gets colours."""
        code_id = next(self._ids)
        line_format = _line_format(base, code_id)
        self._write_title(pen, code_id, language, line_format)
        pen.block(line_format, self._styles.code())
        first_line = QTextCursor(pen.cursor)
        first_line.setKeepPositionOnInsert(True)
        pen.cursor.insertText(code.removesuffix("\n"), self._styles.code())
        self.close(pen.cursor)
        if is_finished:
            self.painter.add(first_line, code_id, code, language)
        return code_id

    def grow(self, pen: BlockPen, text: str) -> None:
        """More code after the last line that was written."""
        last = QTextBlockFormat(pen.cursor.blockFormat())
        last.setBottomMargin(0)
        pen.cursor.setBlockFormat(last)
        pen.cursor.insertText(text, self._styles.code())
        self.close(pen.cursor)

    def close(self, cursor: QTextCursor) -> None:
        """Room below the last line."""
        last = QTextBlockFormat(cursor.blockFormat())
        last.setBottomMargin(CODE_PADDING + 6)
        cursor.setBlockFormat(last)

    def code_of(self, code_id: int) -> str:
        """The lines of a code block, without a newline at the end."""
        return "\n".join(block.text() for block in self._blocks(code_id) if not _is_title(block))

    def toggle_wrap(self, code_id: int) -> None:
        """Break long lines, or leave them whole."""
        edit = QTextCursor(self._document)
        edit.beginEditBlock()
        for block in list(self._blocks(code_id)):
            cursor = QTextCursor(block)
            block_format = block.blockFormat()
            is_wrapped = block_format.nonBreakableLines()
            block_format.setNonBreakableLines(not is_wrapped)
            cursor.setBlockFormat(block_format)
            if block_format.boolProperty(IS_CODE_TITLE):
                language = block.text().partition(_GAP)[0]
                cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
                self._write_links(cursor, code_id, language, is_wrapped)
        edit.endEditBlock()

    def _blocks(self, code_id: int) -> Iterator[QTextBlock]:
        block = self._document.begin()
        while block.isValid():
            if block.blockFormat().intProperty(CODE_ID) == code_id:
                yield block
            block = block.next()

    def _write_title(self, pen: BlockPen, code_id: int, language: str, line_format: QTextBlockFormat) -> None:
        title_format = QTextBlockFormat(line_format)
        title_format.setProperty(IS_CODE_TITLE, True)
        title_format.setTopMargin(CODE_PADDING + 4)
        pen.block(title_format, self._styles.own_words())
        self._write_links(pen.cursor, code_id, language or "text", is_wrapped=True)

    def _write_links(self, cursor: QTextCursor, code_id: int, language: str, is_wrapped: bool) -> None:
        cursor.insertText(language + _GAP, self._styles.own_words())
        cursor.insertText("Copy code", self._styles.own_link(own_link(COPY_CODE, code_id)))
        cursor.insertText(_GAP, self._styles.own_words())
        words = "Don’t wrap" if is_wrapped else "Wrap"
        cursor.insertText(words, self._styles.own_link(own_link(WRAP_CODE, code_id)))


def _line_format(base: QTextBlockFormat, code_id: int) -> QTextBlockFormat:
    line_format = QTextBlockFormat(base)
    line_format.setProperty(CODE_ID, code_id)
    line_format.setLeftMargin(base.leftMargin() + CODE_PADDING)
    line_format.setRightMargin(CODE_PADDING)
    line_format.setTopMargin(0)
    line_format.setBottomMargin(0)
    return line_format


def _is_title(block: QTextBlock) -> bool:
    return block.blockFormat().boolProperty(IS_CODE_TITLE)
