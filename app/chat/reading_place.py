"""Where the reader is: which line of which message stands at the top."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPoint
from PySide6.QtGui import QTextBlock, QTextDocument
from PySide6.QtWidgets import QTextEdit

from app.chat.block_pen import MESSAGE_ID


@dataclass(frozen=True, slots=True)
class ReadingPlace:
    """`blocks` after the message's name, and how far that block reaches above the view."""

    message_id: int
    blocks: int
    above_pixels: float

    @classmethod
    def of(cls, view: QTextEdit) -> ReadingPlace | None:
        """None where no message stands at the top."""
        block, blocks = view.cursorForPosition(QPoint(0, 0)).block(), 0
        top = view.document().documentLayout().blockBoundingRect(block).top()
        above = view.verticalScrollBar().value() - top
        while block.isValid() and not block.blockFormat().hasProperty(MESSAGE_ID):
            block, blocks = block.previous(), blocks + 1
        return cls(block.blockFormat().intProperty(MESSAGE_ID), blocks, above) if block.isValid() else None

    def go_back(self, view: QTextEdit) -> None:
        """Scroll there, if the message is still shown."""
        block = _name_of(view.document(), self.message_id)
        for _ in range(self.blocks):
            following = block.next()
            if not following.isValid() or following.blockFormat().hasProperty(MESSAGE_ID):
                break
            block = following
        if block.isValid():
            top = view.document().documentLayout().blockBoundingRect(block).top()
            view.verticalScrollBar().setValue(round(top + self.above_pixels))


def _name_of(document: QTextDocument, message_id: int) -> QTextBlock:
    block = document.begin()
    while block.isValid() and block.blockFormat().intProperty(MESSAGE_ID) != message_id:
        block = block.next()
    return block
