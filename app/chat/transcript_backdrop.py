"""What is painted behind the text: the ground of code blocks and the bars of quotes."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QTextBlock, QTextBlockFormat, QTextDocument

from app.chat.block_pen import CODE_ID, IS_THINKING
from app.chat.code_block import CODE_PADDING
from app.chat.markdown_writer import QUOTE_PIXELS
from app.chat.text_colours import TextColours

_QUOTE = QTextBlockFormat.Property.BlockQuoteLevel
_BAR_PIXELS = 3
_ROUND_PIXELS = 6


def paint_backdrop(
    painter: QPainter, document: QTextDocument, first: QTextBlock, area: QRectF, colours: TextColours
) -> None:
    """Paint for the blocks from `first` on that lie in `area`, in document coordinates."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    for run in _runs(document, first, area):
        _paint_run(painter, document, run, colours)


def _runs(document: QTextDocument, first: QTextBlock, area: QRectF) -> Iterator[list[QTextBlock]]:
    """Visible neighbours that share one ground; a little below the area too, for round corners."""
    layout = document.documentLayout()
    run: list[QTextBlock] = []
    block, key = first, (0, False)
    while block.isValid() and layout.blockBoundingRect(block).top() <= area.bottom() + 2 * CODE_PADDING:
        block_key = block.blockFormat().intProperty(CODE_ID), _bars(block) > 0
        if run and block_key != key:
            yield run
            run = []
        key = block_key
        if any(key):
            run.append(block)
        block = block.next()
    if run:
        yield run


def _bars(block: QTextBlock) -> int:
    """How many bars stand before a block: one per level of quoting, one for opened thinking."""
    block_format = block.blockFormat()
    is_thought = block_format.boolProperty(IS_THINKING) and block_format.leftMargin() > 0
    return block_format.intProperty(_QUOTE) + is_thought


def _rect(document: QTextDocument, block: QTextBlock) -> QRectF:
    """Where the words of a block stand."""
    block_format = block.blockFormat()
    left = block_format.leftMargin() + block_format.indent() * document.indentWidth()
    return document.documentLayout().blockBoundingRect(block).translated(left, 0)


def _paint_run(
    painter: QPainter, document: QTextDocument, run: list[QTextBlock], colours: TextColours
) -> None:
    rects = [_rect(document, block) for block in run]
    ground = rects[0]
    for rect in rects[1:]:
        ground = ground.united(rect)
    code_padding = CODE_PADDING if run[0].blockFormat().hasProperty(CODE_ID) else 0
    if code_padding:
        _paint_ground(painter, ground, colours.code)
    for block, rect in zip(run, rects, strict=True):
        bars = _bars(block)
        for level in range(bars):
            left = rect.left() - code_padding - QUOTE_PIXELS * (bars - level) + 2
            # the outermost bar goes through from top to bottom
            across = ground if level == 0 else rect
            painter.fillRect(QRectF(left, across.top(), _BAR_PIXELS, across.height()), colours.line)


def _paint_ground(painter: QPainter, ground: QRectF, colour: QColor) -> None:
    wide = ground.adjusted(-CODE_PADDING, -CODE_PADDING / 2, CODE_PADDING, CODE_PADDING)
    painter.setBrush(colour)
    painter.drawRoundedRect(wide, _ROUND_PIXELS, _ROUND_PIXELS)
