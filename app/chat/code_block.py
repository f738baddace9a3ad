"""Code blocks: a title with language and links, then one block per line, so that they can grow."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from PySide6.QtGui import QTextBlock, QTextBlockFormat, QTextCursor, QTextDocument

from app.chat.block_pen import CODE_ID, IS_CODE_TITLE, BlockPen, own_link
from app.chat.inline_styles import InlineStyles

COPY_CODE, WRAP_CODE = "code", "wrap"
CODE_PADDING = 10


class CodeBlocks:
    """Writes the code blocks of a document and finds them again by their number. GUI thread."""

    def __init__(self, document: QTextDocument, styles: InlineStyles) -> None:
        self._document = document
        self._styles = styles
        self._ids = count(1)

    def write(self, pen: BlockPen, code: str, language: str, base: QTextBlockFormat) -> int:
        """Write a block; `base` says where it stands. The number finds it again."""
        code_id = next(self._ids)
        line_format = _line_format(base, code_id)
        self._write_title(pen, code_id, language, line_format)
        pen.block(line_format, self._styles.code())
        pen.cursor.insertText(code.removesuffix("\n"), self._styles.code())
        self.close(pen.cursor)
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
        return "\n".join(block.text() for block in self._lines(code_id))

    def toggle_wrap(self, code_id: int) -> None:
        """Break long lines, or leave them whole."""
        for block in list(self._lines(code_id)):
            cursor = QTextCursor(block)
            block_format = block.blockFormat()
            block_format.setNonBreakableLines(not block_format.nonBreakableLines())
            cursor.setBlockFormat(block_format)

    def _lines(self, code_id: int) -> Iterator[QTextBlock]:
        block = self._document.begin()
        while block.isValid():
            block_format = block.blockFormat()
            if block_format.intProperty(CODE_ID) == code_id and not block_format.boolProperty(IS_CODE_TITLE):
                yield block
            block = block.next()

    def _write_title(self, pen: BlockPen, code_id: int, language: str, line_format: QTextBlockFormat) -> None:
        title_format = QTextBlockFormat(line_format)
        title_format.setProperty(IS_CODE_TITLE, True)
        title_format.setTopMargin(CODE_PADDING + 4)
        pen.block(title_format, self._styles.own_words())
        pen.cursor.insertText(f"{language or 'text'}    ", self._styles.own_words())
        pen.cursor.insertText("Copy code", self._styles.own_link(own_link(COPY_CODE, code_id)))
        pen.cursor.insertText("    ", self._styles.own_words())
        pen.cursor.insertText("Wrap lines", self._styles.own_link(own_link(WRAP_CODE, code_id)))


def _line_format(base: QTextBlockFormat, code_id: int) -> QTextBlockFormat:
    line_format = QTextBlockFormat(base)
    line_format.setProperty(CODE_ID, code_id)
    line_format.setLeftMargin(base.leftMargin() + CODE_PADDING)
    line_format.setRightMargin(CODE_PADDING)
    line_format.setTopMargin(0)
    line_format.setBottomMargin(0)
    return line_format
