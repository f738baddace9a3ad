"""Colours finished code little by little, while nothing else is to be done."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator

from PySide6.QtCore import QTimer
from PySide6.QtGui import QTextCursor, QTextDocument, QTextLayout
from shiboken6 import isValid

from app.chat.block_pen import CODE_ID
from app.chat.code_colours import CodeColours, Part, coloured_lines, is_ready
from app.chat.text_colours import TextColours

LONGEST_CODE = 30_000
_BUDGET_SECONDS = 0.004
_LOADING_MS = 20


class CodePainter:
    """Colours belong to the lines' layout, not to the text: they are never copied. GUI thread."""

    def __init__(self, document: QTextDocument, colours: TextColours) -> None:
        self._document = document
        self._colours = CodeColours(colours)
        self._waiting: deque[tuple[QTextCursor, int, str, str]] = deque()
        self._work: Iterator[None] | None = None
        self._timer = QTimer(document)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._paint_some)

    def add(self, first_line: QTextCursor, code_id: int, code: str, language: str) -> None:
        """Colour a code block soon, unless it is gone by then."""
        if language and len(code) <= LONGEST_CODE:
            place = QTextCursor(first_line)
            place.setKeepPositionOnInsert(True)
            self._waiting.append((place, code_id, code, language))
            self._timer.start(0)

    def stop(self) -> None:
        """Forget what waits, for good."""
        self._timer.stop()
        self._timer.deleteLater()
        self._waiting.clear()
        self._work = None

    def _paint_some(self) -> None:
        if not isValid(self._document):
            return  # a view that is being deleted loses its document before its timers
        if self._work is None and self._waiting and not is_ready(self._waiting[0][3]):
            self._timer.start(_LOADING_MS)
            return
        end = time.perf_counter() + _BUDGET_SECONDS
        edit = QTextCursor(self._document)
        edit.beginEditBlock()
        while time.perf_counter() < end:
            if self._work is None:
                if not self._waiting or not is_ready(self._waiting[0][3]):
                    break
                self._work = self._paint(*self._waiting.popleft())
            if next(self._work, self) is self:
                self._work = None
        edit.endEditBlock()
        if self._work is not None or self._waiting:
            self._timer.start(0)

    def _paint(self, place: QTextCursor, code_id: int, code: str, language: str) -> Iterator[None]:
        """One line at a time; the block number is looked up anew, as text may arrive above meanwhile."""
        for line, parts in enumerate(coloured_lines(code, language)):
            block = self._document.findBlockByNumber(place.block().blockNumber() + line)
            if not block.isValid() or block.blockFormat().intProperty(CODE_ID) != code_id:
                return
            formats = [each for part in parts if (each := self._range(part)) is not None]
            if formats:
                block.layout().setFormats(formats)
                self._document.markContentsDirty(block.position(), block.length())
            yield

    def _range(self, part: Part) -> QTextLayout.FormatRange | None:
        style = self._colours.of(part[2])
        if style is None:
            return None
        format_range = QTextLayout.FormatRange()
        format_range.start, format_range.length = part[0], part[1]
        format_range.format = style
        return format_range
