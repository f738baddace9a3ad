"""What a selection of the transcript says: no links of the program, no thinking, no figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtGui import (
    QFont,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextListFormat,
    QTextTable,
)

from app.chat.block_pen import (
    CODE_ID,
    END_ID,
    IS_CODE_TITLE,
    IS_OWN,
    IS_THINKING,
    IS_USERS,
    MESSAGE_ID,
    QUOTE_LEVEL,
    SOURCE,
)

_PICTURE = "[picture"
_RULE = QTextFormat.Property.BlockTrailingHorizontalRulerWidth


@dataclass(frozen=True, slots=True)
class _Line:
    """One block's words. Lines of one `group` follow each other without a blank line."""

    words: str
    group: str


def selected_text(selection: QTextCursor, is_markdown: bool = False) -> str:
    """The selected words as plain text, or as Markdown that makes the same again."""
    lines = list(_lines(selection, is_markdown))
    text = ""
    for place, line in enumerate(lines):
        if place:
            text += "\n" if line.group and line.group == lines[place - 1].group else "\n\n"
        text += line.words
    return text


def _lines(selection: QTextCursor, is_markdown: bool) -> Iterator[_Line]:
    document = selection.document()
    first, last = selection.selectionStart(), selection.selectionEnd()
    has_names = _has_many_messages(document, first, last)
    block = document.findBlock(first)
    while block.isValid() and block.position() <= last:
        table = QTextCursor(block).currentTable()
        if table is not None and not is_within_one_cell(table, first, last):
            row, block = _row(table, block, first, last, is_markdown)
            yield from row
            continue
        if block.blockFormat().hasProperty(CODE_ID):
            yield from _code(block, first, last, is_markdown)
        elif has_names or not block.blockFormat().hasProperty(MESSAGE_ID):
            yield from _text(block, first, last, is_markdown)
        block = block.next()


def _has_many_messages(document: QTextDocument, first: int, last: int) -> bool:
    """Whether it must be said who says what."""
    block = document.findBlock(first).next()
    while block.isValid() and block.position() <= last:
        if block.blockFormat().hasProperty(MESSAGE_ID):
            return True
        block = block.next()
    return False


# --- paragraphs, items, headings ----------------------------------------------------------------


def _text(block: QTextBlock, first: int, last: int, is_markdown: bool) -> Iterator[_Line]:
    kind = block.blockFormat()
    if kind.hasProperty(END_ID) or kind.boolProperty(IS_THINKING):
        return
    words = _words(block, first, last, is_markdown)
    if kind.hasProperty(MESSAGE_ID):
        if words:
            yield _Line(f"**{words}**" if is_markdown else f"{words}:", "")
    elif kind.boolProperty(IS_USERS):
        yield _Line(words, "user")
    elif kind.hasProperty(_RULE):
        yield _Line("---", "")
    elif words or block.textList():
        is_whole = first <= block.position()
        yield _Line((_prefix(block, is_markdown) if is_whole else "") + words, _group(block))


def _group(block: QTextBlock) -> str:
    if block.textList():
        return "list"
    quotes = block.blockFormat().intProperty(QUOTE_LEVEL)
    return f"quote {quotes}" if quotes else ""


def _prefix(block: QTextBlock, is_markdown: bool) -> str:
    kind, bullet = block.blockFormat(), _bullet(block)
    prefix = "> " * kind.intProperty(QUOTE_LEVEL)
    if is_markdown and kind.headingLevel():
        prefix += "#" * kind.headingLevel() + " "
    if bullet is None:
        return prefix + "   " * kind.indent()
    is_number = bullet.style() == bullet.Style.ListDecimal
    boxes = {kind.MarkerType.Unchecked: "[ ] ", kind.MarkerType.Checked: "[x] "}
    sign = f"{bullet.start()}. " if is_number else "- "
    return prefix + "   " * (bullet.indent() - 1) + sign + boxes.get(kind.marker(), "")


def _bullet(block: QTextBlock) -> QTextListFormat | None:
    return block.textList().format() if block.textList() else None


def _words(block: QTextBlock, first: int, last: int, is_markdown: bool) -> str:
    """The selected part of a block."""
    words = ""
    iterator = block.begin()
    while not iterator.atEnd():
        fragment = iterator.fragment()
        begin, end = fragment.position(), fragment.position() + fragment.length()
        if begin < last and end > first and not fragment.charFormat().boolProperty(IS_OWN):
            part = _utf16(fragment.text(), max(first - begin, 0), min(last, end) - begin)
            is_whole = first <= begin and end <= last
            style = _unmarked(fragment.charFormat(), block)
            words += _piece(part, style, is_whole, is_markdown and _is_marked(block))
        iterator += 1
    return words.replace("\u2028", "\n")


def _is_marked(block: QTextBlock) -> bool:
    """Names, headings and what users wrote show no marks of their own."""
    kind = block.blockFormat()
    return not (kind.boolProperty(IS_USERS) or kind.hasProperty(MESSAGE_ID))


def _unmarked(style: QTextCharFormat, block: QTextBlock) -> QTextCharFormat:
    """Headings and the heads of tables are bold without being written so."""
    table = QTextCursor(block).currentTable()
    if block.blockFormat().headingLevel() or (table and table.cellAt(block.position()).row() == 0):
        style.setFontWeight(QFont.Weight.Normal)
    return style


def _piece(text: str, style: QTextCharFormat, is_whole: bool, is_markdown: bool) -> str:
    source = style.stringProperty(SOURCE)
    if source and (is_whole or style.isImageFormat()) and (is_markdown or not text.startswith(_PICTURE)):
        return source
    if not is_markdown or not text.strip():
        return text
    if style.fontFixedPitch():
        text = f"`{text}`"
    if style.fontWeight() > 500:
        text = f"**{text}**"
    if style.fontItalic():
        text = f"*{text}*"
    if style.fontStrikeOut():
        text = f"~~{text}~~"
    is_bare = style.anchorHref().removeprefix("mailto:").endswith(text)
    return f"[{text}]({style.anchorHref()})" if style.isAnchor() and not is_bare else text


def _utf16(text: str, start: int, end: int) -> str:
    """A part of a text, counted as Qt counts."""
    if text.isascii():
        return text[start:end]
    return text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le", "ignore")


# --- code ---------------------------------------------------------------------------------------


def _code(block: QTextBlock, first: int, last: int, is_markdown: bool) -> Iterator[_Line]:
    kind, group = block.blockFormat(), f"code {block.blockFormat().intProperty(CODE_ID)}"
    if kind.boolProperty(IS_CODE_TITLE):
        return
    is_first = block.previous().blockFormat().boolProperty(IS_CODE_TITLE)
    is_last = block.next().blockFormat().intProperty(CODE_ID) != kind.intProperty(CODE_ID)
    if is_markdown and (is_first or block.position() <= first):
        yield _Line(f"```{_language(block)}", group)
    yield _Line(_utf16(block.text(), max(first - block.position(), 0), last - block.position()), group)
    if is_markdown and (is_last or block.position() + block.length() > last):
        yield _Line("```", group)


def _language(block: QTextBlock) -> str:
    while block.isValid() and not block.blockFormat().boolProperty(IS_CODE_TITLE):
        block = block.previous()
    language = block.text().split(" ")[0]
    return "" if language == "text" else language


# --- tables -------------------------------------------------------------------------------------


def is_within_one_cell(table: QTextTable, first: int, last: int) -> bool:
    """Whether a selection holds only part of one cell."""
    begin, end = table.cellAt(first), table.cellAt(last)
    return begin.isValid() and end.isValid() and (begin.row(), begin.column()) == (end.row(), end.column())


def _row(
    table: QTextTable, block: QTextBlock, first: int, last: int, is_markdown: bool
) -> tuple[list[_Line], QTextBlock]:
    """The row that a block stands in, and the block after it."""
    row, cells = table.cellAt(block.position()).row(), []
    for column in range(table.columns()):
        cell = table.cellAt(row, column)
        begin, end = cell.firstPosition(), cell.lastPosition()
        if end >= first and begin <= last:
            cells.append(_words(table.document().findBlock(begin), first, last, is_markdown))
    group = f"table {table.firstPosition()}"
    line = "| " + " | ".join(cells) + " |" if is_markdown else "\t".join(cells)
    lines = [_Line(line, group)]
    if is_markdown and row == 0:
        lines.append(_Line("|" + "---|" * len(cells), group))
    after = table.document().findBlock(table.cellAt(row, table.columns() - 1).lastPosition()).next()
    return lines, after
