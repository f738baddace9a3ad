"""Finds words in what was said: in what is shown, and in earlier messages that are not shown yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from PySide6.QtGui import QTextCursor, QTextDocument

from app.chat.block_pen import END_ID, IS_CODE_TITLE, IS_OWN, MESSAGE_ID
from app.chat.thinking import without_thinking
from app.history.records import Message

_BACKWARD = QTextDocument.FindFlag.FindBackward
_FORWARD = QTextDocument.FindFlag(0)


class SearchedView(Protocol):
    """What the search needs of the transcript."""

    def document(self) -> QTextDocument: ...

    def search_start(self, backward: bool) -> QTextCursor: ...

    def setTextCursor(self, cursor: QTextCursor) -> None: ...

    def hidden_messages(self) -> Sequence[Message]: ...

    def show_from(self, message_id: int) -> None: ...


class TranscriptSearch:
    """Whatever its case; links, names and figures are not searched. GUI thread."""

    def __init__(self, view: SearchedView) -> None:
        self._view = view

    def find(self, text: str, backward: bool = False) -> bool:
        """Select the next match, or the one before; after the last comes the first."""
        if not text:
            return False
        here = self._view.search_start(backward)
        match = self._next(text, here, backward) or self._round(text, backward)
        if match is not None:
            self._view.setTextCursor(match)
        return match is not None

    def match_count(self, text: str) -> int:
        """How many matches there are; of messages not shown yet, in what they were written as."""
        if not text:
            return 0
        wanted = text.casefold()
        count = sum(_words_of(message).count(wanted) for message in self._view.hidden_messages())
        match = self._next(text, QTextCursor(self._view.document()), backward=False)
        while match is not None:
            count += 1
            match = self._next(text, match, backward=False)
        return count

    def _round(self, text: str, backward: bool) -> QTextCursor | None:
        """From the other end; earlier messages that hold it are shown for that."""
        wanted = text.casefold()
        hidden = [message.id for message in self._view.hidden_messages() if wanted in _words_of(message)]
        first_shown = self._first_shown()
        if hidden:
            self._view.show_from(hidden[-1] if backward else hidden[0])
        start = QTextCursor(self._view.document())
        if backward and hidden and first_shown is not None:
            start.setPosition(self._position_of(first_shown))
        elif backward:
            start.movePosition(QTextCursor.MoveOperation.End)
        return self._next(text, start, backward) or (self._round(text, backward) if hidden else None)

    def _next(self, text: str, start: QTextCursor, backward: bool) -> QTextCursor | None:
        document = self._view.document()
        match = document.find(text, start, _BACKWARD if backward else _FORWARD)
        while not match.isNull():
            if not _is_own(match):
                return match
            match = document.find(text, match, _BACKWARD if backward else _FORWARD)
        return None

    def _first_shown(self) -> int | None:
        block = self._view.document().begin()
        while block.isValid() and not block.blockFormat().hasProperty(MESSAGE_ID):
            block = block.next()
        return block.blockFormat().intProperty(MESSAGE_ID) if block.isValid() else None

    def _position_of(self, message_id: int) -> int:
        block = self._view.document().begin()
        while block.isValid() and block.blockFormat().intProperty(MESSAGE_ID) != message_id:
            block = block.next()
        return block.position() if block.isValid() else 0


def _words_of(message: Message) -> str:
    text = message.text if message.role == "user" else without_thinking(message.text)
    return text.casefold()


def _is_own(match: QTextCursor) -> bool:
    """Words of the program rather than of the conversation."""
    kind = match.blockFormat()
    is_own_block = any(kind.hasProperty(each) for each in (MESSAGE_ID, END_ID, IS_CODE_TITLE))
    return is_own_block or match.charFormat().boolProperty(IS_OWN)
