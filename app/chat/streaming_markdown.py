"""Markdown that grows: finished units stay as they were written, only the last one is written again."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtGui import QTextCursor

from app.chat.block_pen import BlockPen
from app.chat.code_block import CodeBlocks
from app.chat.inline_styles import PLAIN, InlineStyles
from app.chat.markdown_parser import Definitions
from app.chat.markdown_units import PARAGRAPH, Unit, decided_length, line_start, units_of
from app.chat.markdown_writer import MarkdownWriter

# a last unit longer than this is only written again when it has grown by a quarter
_LONG_UNIT = 3_000


class StreamingMarkdown:
    """One stretch of Markdown at the pen, which nothing else may move before `finish`. GUI thread."""

    def __init__(
        self, pen: BlockPen, writer: MarkdownWriter, codes: CodeBlocks, styles: InlineStyles
    ) -> None:
        self._pen = pen
        self._writer = writer
        self._codes = codes
        self._styles = styles
        self._definitions: Definitions = {}
        self._first_definitions = 0
        self._tail, self._shown = "", ""
        self._written_length = 0
        self._number: int | None = None
        self._kind, self._was_interrupted = "", False
        self._open_fence: Unit | None = None
        self._start, self._start_is_fresh = QTextCursor(pen.cursor), pen.is_fresh
        self._start.setKeepPositionOnInsert(True)

    def append(self, text: str) -> None:
        """More of a text that goes on."""
        self._tail += text
        self._show(self._tail[: decided_length(self._tail)], is_growing=True)

    def finish(self, text: str = "") -> None:
        """The last piece; everything is shown."""
        self._tail += text
        self._show(self._tail, is_growing=False)

    @property
    def was_misread(self) -> bool:
        """Whether the end of the text changed what its beginning means, so that all has to be written anew.

        A link defined at the end; a formula or code that was begun, and then was none.
        """
        return self._was_interrupted or self._definition_count() > self._first_definitions

    def _definition_count(self) -> int:
        references = self._definitions.get("references")
        return len(references) if isinstance(references, Mapping) else 0

    def _show(self, text: str, is_growing: bool) -> None:
        added = text[len(self._shown) :] if text.startswith(self._shown) else None
        if is_growing and added == "":
            return
        if is_growing and added and self._grow_code(added):
            self._shown = text
        elif is_growing and added and self._is_long(text, added):
            self._pen.cursor.insertText(added, self._styles.of(PLAIN))
            self._shown = text
        else:
            self._write_units(text, is_growing)

    def _is_long(self, text: str, added: str) -> bool:
        """Writing it again would take long, and no new block has begun that could end that."""
        is_new_block = "\n\n" in self._shown[-1:] + added
        return _LONG_UNIT < len(text) < self._written_length * 1.25 and not is_new_block

    def _write_units(self, text: str, is_growing: bool) -> None:
        units = units_of(text, self._definitions, self._number, is_growing)
        self._pen.remove_back_to(self._start.position(), self._start_is_fresh)
        for unit in units:
            self._start.setPosition(self._pen.cursor.position())
            self._start_is_fresh = self._pen.is_fresh
            is_finished = not is_growing or unit is not units[-1] or unit.is_closed
            self._writer.write(unit.tokens, unit.number, is_finished)
        if units:
            # what seemed to interrupt a paragraph was only more of it
            self._was_interrupted |= self._kind not in ("", units[0].kind) and units[0].kind == PARAGRAPH
            self._kind = units[-1].kind
            self._keep_last(text, units[-1])
        if len(units) < 2 and not self._written_length:
            self._first_definitions = self._definition_count()
        self._written_length = len(self._shown)

    def _keep_last(self, text: str, unit: Unit) -> None:
        """Only the last unit may still change, and not even that if it has an end of its own."""
        is_over = unit.is_closed and text.endswith("\n")
        cut = len(text) if is_over else line_start(text, unit.first_line)
        self._tail, self._shown = self._tail[cut:], text[cut:]
        self._number = None if is_over else unit.number
        self._open_fence = unit if unit.is_open_fence and "\n" in self._shown else None
        if is_over:
            self._kind = ""
            self._start.setPosition(self._pen.cursor.position())
            self._start_is_fresh = self._pen.is_fresh

    def _grow_code(self, added: str) -> bool:
        """Lines of an open code block are added to it, unless one of them may close it."""
        if self._open_fence is None or "`" in added or "~" in added or self._pen.is_fresh:
            return False
        gap = "\n" if self._shown.endswith("\n") and not self._is_first_line() else ""
        self._codes.grow(self._pen, (gap + added).removesuffix("\n"))
        return True

    def _is_first_line(self) -> bool:
        return self._shown.index("\n") == len(self._shown) - 1
