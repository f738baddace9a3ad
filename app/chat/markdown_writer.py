"""Writes Markdown tokens into a document: paragraphs, headings, lists, quotes, rules, tables, formulas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from markdown_it.token import Token
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextBlockFormat, QTextFormat, QTextLength, QTextListFormat

from app.chat.block_pen import QUOTE_LEVEL, BlockPen
from app.chat.code_block import CodeBlocks
from app.chat.inline_styles import PLAIN, InlineStyles, Look
from app.chat.inline_writer import FormulaWriter, InlineWriter, SourceOnly, formula_source
from app.chat.math_rules import IS_CLOSED
from app.chat.table_writer import TableWriter

QUOTE_PIXELS = 16
_HEADING_STEPS = {1: 3, 2: 2, 3: 1}
_Bullet = QTextListFormat.Style
_BULLETS = (_Bullet.ListDisc, _Bullet.ListCircle, _Bullet.ListSquare)
_Marker = QTextBlockFormat.MarkerType


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a block stands. `bullet` is for the first block of an item only."""

    depth: int = 0
    quotes: int = 0
    bullet: QTextListFormat | None = None
    box: _Marker = _Marker.NoMarker


class MarkdownWriter:
    """Writes at a pen, in one set of colours. GUI thread."""

    def __init__(
        self, pen: BlockPen, styles: InlineStyles, formulas: FormulaWriter, codes: CodeBlocks
    ) -> None:
        self._pen = pen
        self._styles = styles
        self._formulas = formulas
        self._inline = InlineWriter(styles, formulas)
        self._codes = codes
        self._tables = TableWriter(pen, styles, self._inline)
        self._places = [_Place()]
        self._numbers: list[int | None] = []
        self._is_finished = True

    def write(self, tokens: Sequence[Token], number: int | None = None, is_finished: bool = True) -> None:
        """Write whole blocks; `number` is that of an ordered item when they begin with one."""
        self._is_finished = is_finished
        self._places = [_Place()]
        self._numbers = [number]
        place = 0
        while place < len(tokens):
            place += self._write_at(tokens, place)

    def _write_at(self, tokens: Sequence[Token], place: int) -> int:
        """Write the token at a place; how many tokens that took."""
        token = tokens[place]
        if token.type in ("paragraph_open", "heading_open"):
            self._text_block(token, tokens[place + 1])
            return 3
        if token.type == "table_open":
            return self._table(tokens, place)
        if token.nesting:
            self._change_place(token, tokens[place + 1 : place + 3])
        elif token.type in ("fence", "code_block"):
            self._code(token)
        elif token.type == "math_block":
            self._formula(token)
        elif token.type == "hr":
            self._rule()
        return 1

    # --- where blocks stand -------------------------------------------------------------------

    def _change_place(self, token: Token, following: Sequence[Token]) -> None:
        here = self._places[-1]
        if token.type == "blockquote_open":
            self._places.append(replace(here, quotes=here.quotes + 1))
        elif token.type == "blockquote_close":
            self._places.pop()
        elif token.type in ("ordered_list_open", "bullet_list_open"):
            is_ordered = token.type == "ordered_list_open"
            self._numbers.append(int(token.attrs.get("start", 1)) if is_ordered else None)
        elif token.type in ("ordered_list_close", "bullet_list_close"):
            self._numbers.pop()
        elif token.type == "list_item_open":
            self._begin_item(following)
        elif token.type == "list_item_close":
            self._end_item()

    def _begin_item(self, following: Sequence[Token]) -> None:
        if self._places[-1].bullet is not None:  # an item in an item, without words of its own
            self._block(0)
        depth, number = self._places[-1].depth + 1, self._numbers[-1]
        bullet = QTextListFormat()
        bullet.setIndent(depth)
        if number is None:
            bullet.setStyle(_BULLETS[min(depth, len(_BULLETS)) - 1])
        else:
            bullet.setStyle(QTextListFormat.Style.ListDecimal)
            bullet.setStart(number)
            self._numbers[-1] = number + 1
        box = _take_box(following)
        self._places.append(replace(self._places[-1], depth=depth, bullet=bullet, box=box))

    def _end_item(self) -> None:
        if self._places[-1].bullet is not None:
            self._block(0)
        self._places.pop()

    def _block(self, top_pixels: int, look: Look = PLAIN, change: QTextBlockFormat | None = None) -> None:
        """Begin a block; the first one of an item carries its bullet."""
        here = self._places[-1]
        block_format = change or QTextBlockFormat()
        block_format.setTopMargin(top_pixels if here.bullet is None else min(top_pixels, 2))
        block_format.setBottomMargin(4)
        self._place_block(block_format, here)
        self._pen.block(block_format, self._styles.of(look))
        self._take_bullet()

    def _place_block(self, block_format: QTextBlockFormat, here: _Place) -> None:
        if here.quotes:
            block_format.setProperty(QUOTE_LEVEL, here.quotes)
            block_format.setLeftMargin(block_format.leftMargin() + QUOTE_PIXELS * here.quotes)
        if here.bullet is None:
            block_format.setIndent(here.depth)
        else:
            block_format.setMarker(here.box)

    def _take_bullet(self) -> None:
        here = self._places[-1]
        if here.bullet is not None:
            self._pen.cursor.createList(here.bullet)
            self._places[-1] = replace(here, bullet=None, box=_Marker.NoMarker)

    # --- blocks -------------------------------------------------------------------------------

    def _text_block(self, opening: Token, inline: Token) -> None:
        look, change, top = PLAIN, QTextBlockFormat(), 6
        if self._places[-1].quotes:
            look = Look(is_muted=True)
        if opening.type == "heading_open":
            level = int(opening.tag[1:])
            look = Look(is_bold=True, size_step=_HEADING_STEPS.get(level, 0))
            change.setHeadingLevel(level)
            top = 12
        self._block(top, look, change)
        self._inline.write(self._pen.cursor, inline.children or (), look)

    def _code(self, token: Token) -> None:
        here = self._places[-1]
        if here.bullet is not None:
            self._block(0)
        base = QTextBlockFormat()
        self._place_block(base, self._places[-1])
        language = token.info.split()[0] if token.info.split() else ""
        self._codes.write(self._pen, token.content, language, base, self._is_finished)

    def _formula(self, token: Token) -> None:
        change = QTextBlockFormat()
        change.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._block(6, PLAIN, change)
        source = formula_source(token)
        formulas = self._formulas if token.meta[IS_CLOSED] else SourceOnly(self._styles)
        formulas.write(self._pen.cursor, token.content, source, is_display=True)

    def _rule(self) -> None:
        change = QTextBlockFormat()
        full = QTextLength(QTextLength.Type.PercentageLength, 100)
        change.setProperty(QTextFormat.Property.BlockTrailingHorizontalRulerWidth, full)
        self._block(4, PLAIN, change)

    def _table(self, tokens: Sequence[Token], place: int) -> int:
        here = self._places[-1]
        if here.bullet is not None:
            self._block(0)
        end = next(at for at in range(place, len(tokens)) if tokens[at].type == "table_close")
        self._tables.write(tokens[place:end], here.depth, QUOTE_PIXELS * here.quotes)
        return end + 1 - place


def _take_box(following: Sequence[Token]) -> _Marker:
    """The box of a task, whose signs are taken out of its text."""
    if len(following) < 2 or following[0].type != "paragraph_open":
        return _Marker.NoMarker
    children = following[1].children or []
    text = children[0].content if children and children[0].type == "text" else ""
    if len(text) < 4 or text[0] + text[2:4] != "[] " or text[1] not in " xX":
        return _Marker.NoMarker
    children[0].content = text[4:]
    return _Marker.Unchecked if text[1] == " " else _Marker.Checked
