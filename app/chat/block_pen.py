"""Writes blocks one after the other at a place of a document."""

from __future__ import annotations

from PySide6.QtGui import (
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextFormat,
    QTextTable,
    QTextTableFormat,
)

_USER = QTextFormat.Property.UserProperty.value
# of characters: the program's own words (links, labels), not part of what was said
IS_OWN = _USER + 1
# of characters: what this formula or picture was written as
SOURCE = _USER + 2
# of blocks: the number of the code block that this line belongs to, and whether it is its title
CODE_ID, IS_CODE_TITLE = _USER + 3, _USER + 4
# of blocks: thinking, which is never copied
IS_THINKING = _USER + 5
# of blocks: the message whose name this is, and the message that ends with this
MESSAGE_ID, END_ID = _USER + 6, _USER + 7
# of blocks: words of the user, shown as they were typed
IS_USERS = _USER + 8

QUOTE_LEVEL = QTextFormat.Property.BlockQuoteLevel
SCHEME = "emberglass"


def own_link(action: str, number: int = 0, part: int = 0) -> str:
    """The address of one of the program's own links."""
    return f"{SCHEME}:{action}/{number}/{part}" if part else f"{SCHEME}:{action}/{number}"


class BlockPen:
    """Moves ahead of what it writes.

    `is_fresh` while it stands in an empty block that is still to be used.
    """

    def __init__(self, cursor: QTextCursor, is_fresh: bool = True) -> None:
        self.cursor = cursor
        self.is_fresh = is_fresh

    def block(self, block_format: QTextBlockFormat, style: QTextCharFormat) -> None:
        """Begin a block."""
        if self.is_fresh:
            self.cursor.setBlockFormat(block_format)
            self.cursor.setBlockCharFormat(style)
            self.is_fresh = False
        else:
            self.cursor.insertBlock(block_format, style)

    def table(self, rows: int, columns: int, table_format: QTextTableFormat) -> QTextTable:
        """Insert an empty table; the pen then stands in the empty block after it."""
        if not self.is_fresh:
            self.cursor.insertBlock(QTextBlockFormat(), QTextCharFormat())
        else:
            self.cursor.setBlockFormat(QTextBlockFormat())
        table = self.cursor.insertTable(rows, columns, table_format)
        self.cursor.setPosition(table.lastPosition() + 1)
        self.is_fresh = True
        return table

    def remove_back_to(self, position: int, was_fresh: bool) -> None:
        """Take back all that was written since the pen stood there."""
        self.cursor.setPosition(position, QTextCursor.MoveMode.KeepAnchor)
        remove(self.cursor)
        self.is_fresh = was_fresh


def remove(cursor: QTextCursor) -> None:
    """Remove the selected text; the block where it begins keeps its format, even if it is empty."""
    block_format = cursor.document().findBlock(cursor.selectionStart()).blockFormat()
    cursor.removeSelectedText()
    if cursor.blockFormat() != block_format:
        cursor.setBlockFormat(block_format)
