"""The text of one answer in the document: thinking that folds, and Markdown."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from PySide6.QtGui import QTextBlockFormat, QTextCursor

from app.chat.answer_words import duration_words
from app.chat.block_pen import IS_THINKING, BlockPen, own_link
from app.chat.code_block import CodeBlocks
from app.chat.inline_styles import InlineStyles, Look
from app.chat.inline_writer import FormulaWriter
from app.chat.markdown_writer import MarkdownWriter
from app.chat.streaming_markdown import StreamingMarkdown
from app.chat.thinking import ANSWER, THINKING, Segment, may_change_split, split_thinking

FOLD = "thinking"
_THOUGHTS = Look(is_muted=True)


@dataclass(slots=True)
class Folds:
    """Which thinking the reader opened or closed, by message and place."""

    opened: set[tuple[int, int]] = field(default_factory=set)
    closed: set[tuple[int, int]] = field(default_factory=set)

    def toggle(self, key: tuple[int, int], is_open: bool) -> None:
        """The reader wants the other state."""
        (self.closed if is_open else self.opened).add(key)
        (self.opened if is_open else self.closed).discard(key)


@dataclass(frozen=True, slots=True)
class BodyTools:
    """What a body writes with; `may_fold` tells whether thinking may close itself without a jump."""

    styles: InlineStyles
    formulas: FormulaWriter
    codes: CodeBlocks
    folds: Folds
    may_fold: Callable[[], bool] = lambda: True


class AnswerBody:
    """Writes at a pen that stands in an empty block; grows until `finish`. GUI thread."""

    def __init__(
        self, pen: BlockPen, tools: BodyTools, message_id: int, thinking_seconds: float | None = None
    ) -> None:
        self.text = ""
        self._pen = pen
        self._tools = tools
        self._message_id = message_id
        self._thinking_seconds = thinking_seconds
        self._thinking_since: float | None = None
        self._start, self._start_is_fresh = QTextCursor(pen.cursor), pen.is_fresh
        self._start.setKeepPositionOnInsert(True)
        self._shown: list[Segment] = []
        self._open_places: set[int] = set()
        self._markdown: StreamingMarkdown | None = None
        self._part_start, self._part_is_fresh = 0, True

    def append(self, text: str) -> None:
        """More of the answer."""
        self.text += text
        last = self._shown[-1] if self._shown else None
        if last is None or last.kind == THINKING or may_change_split(self.text, len(text)):
            self._show(split_thinking(self.text, is_growing=True), is_growing=True)
        elif self._markdown is not None:
            self._markdown.append(text)
            self._shown[-1] = Segment(ANSWER, last.text + text)

    def finish(self, text: str) -> None:
        """The whole answer; what was shown before stays if it was the beginning of it."""
        self.text = text
        self._show(split_thinking(text), is_growing=False)
        if self._markdown is not None and self._markdown.was_misread:
            self._write_anew(split_thinking(text), is_growing=False)

    def toggle_fold(self, place: int) -> None:
        """Open or close thinking while the answer grows."""
        self._tools.folds.toggle((self._message_id, place), place in self._open_places)
        self._write_anew(split_thinking(self.text, is_growing=True), is_growing=True)

    # --- showing segments ---------------------------------------------------------------------

    def _show(self, segments: list[Segment], is_growing: bool) -> None:
        if not _continues(self._shown, segments):
            self._write_anew(segments, is_growing)
            return
        for place, segment in enumerate(
            segments[max(len(self._shown) - 1, 0) :], max(len(self._shown) - 1, 0)
        ):
            is_last = place == len(segments) - 1
            self._show_at(place, segment, is_growing and is_last)

    def _write_anew(self, segments: list[Segment], is_growing: bool) -> None:
        self._pen.remove_back_to(self._start.position(), self._start_is_fresh)
        self._shown.clear()
        self._markdown = None
        for place, segment in enumerate(segments):
            self._show_at(place, segment, is_growing and place == len(segments) - 1)

    def _show_at(self, place: int, segment: Segment, is_growing: bool) -> None:
        is_new = place == len(self._shown)
        before = "" if is_new else self._shown[place].text
        if is_new:
            self._part_start, self._part_is_fresh = self._pen.cursor.position(), self._pen.is_fresh
        if segment.kind == THINKING:
            self._show_thinking(place, segment, is_growing, None if is_new else self._shown[place])
        else:
            self._show_answer(segment.text[len(before) :], is_new, is_growing)
        self._shown[place:] = [segment]

    def _show_answer(self, added: str, is_new: bool, is_growing: bool) -> None:
        if is_new or self._markdown is None:
            tools = self._tools
            writer = MarkdownWriter(self._pen, tools.styles, tools.formulas, tools.codes)
            self._markdown = StreamingMarkdown(self._pen, writer, tools.codes, tools.styles)
        if is_growing:
            self._markdown.append(added)
        else:
            self._markdown.finish(added)

    # --- thinking -----------------------------------------------------------------------------

    def _show_thinking(self, place: int, segment: Segment, is_growing: bool, before: Segment | None) -> None:
        if is_growing and segment.is_open and self._thinking_since is None:
            self._thinking_since = time.monotonic()
        is_open = self._wants_open(place, segment, is_growing, before)
        if before is not None and is_open and segment.is_open == before.is_open and before.text:
            self._write_thoughts(segment.text[len(before.text) :])
            return
        if before is not None:
            self._pen.remove_back_to(self._part_start, self._part_is_fresh)
        self._write_fold(place, self._fold_words(segment, is_growing), is_open)
        if is_open and segment.text:
            self._pen.block(_thought_format(), self._tools.styles.of(_THOUGHTS))
            self._write_thoughts(segment.text)

    def _wants_open(self, place: int, segment: Segment, is_growing: bool, before: Segment | None) -> bool:
        key, folds = (self._message_id, place), self._tools.folds
        if key in folds.opened or key in folds.closed:
            return key in folds.opened
        if is_growing and segment.is_open:
            return True
        if before is not None and before.is_open and not self._tools.may_fold():
            folds.opened.add(key)  # the reader is in the middle of it
            return True
        return False

    def _write_thoughts(self, text: str) -> None:
        self._pen.cursor.insertText(text, self._tools.styles.of(_THOUGHTS))

    def _write_fold(self, place: int, words: str, is_open: bool) -> None:
        styles = self._tools.styles
        block_format = QTextBlockFormat()
        block_format.setTopMargin(4)
        block_format.setBottomMargin(4)
        block_format.setProperty(IS_THINKING, True)
        self._pen.block(block_format, styles.own_words())
        (self._open_places.add if is_open else self._open_places.discard)(place)
        target = own_link(FOLD, self._message_id, place)
        self._pen.cursor.insertText(f"{'▾' if is_open else '▸'} {words}", styles.own_link(target))

    def _fold_words(self, segment: Segment, is_growing: bool) -> str:
        if is_growing and segment.is_open:
            return "Thinking…"
        seconds = self._seconds()
        words = f"Thought for {duration_words(seconds)}" if seconds else "Thought"
        return f"{words}, not finished" if segment.is_open else words

    def _seconds(self) -> float | None:
        if self._thinking_since is not None:
            seconds, self._thinking_since = time.monotonic() - self._thinking_since, None
            self._thinking_seconds = self._thinking_seconds or seconds
        return self._thinking_seconds


def _continues(shown: list[Segment], segments: list[Segment]) -> bool:
    """Whether what is shown stays as it is, apart from its last piece, which may have grown."""
    if not shown:
        return True
    last = len(shown) - 1
    if len(segments) <= last or segments[:last] != shown[:last]:
        return False
    return segments[last].kind == shown[last].kind and segments[last].text.startswith(shown[last].text)


def _thought_format() -> QTextBlockFormat:
    block_format = QTextBlockFormat()
    block_format.setLeftMargin(16)
    block_format.setBottomMargin(2)
    block_format.setProperty(IS_THINKING, True)
    return block_format
