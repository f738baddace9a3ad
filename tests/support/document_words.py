"""A transcript's document as lines of words, so that tests can say what is on the screen."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtGui import (
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextListFormat,
)

from app.chat.block_pen import CODE_ID, END_ID, IS_CODE_TITLE, IS_OWN, IS_THINKING, MESSAGE_ID, SOURCE

_Style = QTextListFormat.Style
_BULLETS = {_Style.ListDisc: "•", _Style.ListCircle: "◦", _Style.ListSquare: "▪"}


def blocks_of(document: QTextDocument) -> Iterator[QTextBlock]:
    block = document.begin()
    while block.isValid():
        yield block
        block = block.next()


def answer_lines(document: QTextDocument) -> list[str]:
    """Every block of the answers as one line, without names, links and figures.

    `#` heading, `•` `◦` `▪` `1.` list items (indented), `☐ ☑` boxes, `>` quote, `code|` a line of code,
    `----` rule, `table RxC` before the cells; `*italic*`, `**bold**`, `~struck~`, `` `code` ``, `<address>`
    after a link, `⟦source⟧` for a formula.
    """
    lines: list[str] = []
    tables: set[int] = set()
    for block in blocks_of(document):
        kind = block.blockFormat()
        if kind.hasProperty(MESSAGE_ID) or kind.hasProperty(END_ID) or kind.boolProperty(IS_CODE_TITLE):
            continue
        table = QTextCursor(block).currentTable()
        if table is not None and table.objectIndex() not in tables:
            tables.add(table.objectIndex())
            lines.append(f"table {table.rows()}x{table.columns()}")
        line = _line(block)
        if line or table is not None:
            lines.append(line)
    return lines


def _line(block: QTextBlock) -> str:
    kind = block.blockFormat()
    if kind.hasProperty(CODE_ID):
        return f"code|{block.text()}"
    if kind.hasProperty(QTextBlockFormat.Property.BlockTrailingHorizontalRulerWidth):
        return "----"
    words = "".join(_words(fragment) for fragment in _fragments(block))
    return f"{_prefix(block)}{words}" if words or block.textList() else ""


def _prefix(block: QTextBlock) -> str:
    kind = block.blockFormat()
    prefix = "> " * kind.intProperty(QTextBlockFormat.Property.BlockQuoteLevel)
    prefix += "thinking: " if kind.boolProperty(IS_THINKING) else ""
    prefix += "#" * kind.headingLevel() + (" " if kind.headingLevel() else "")
    items = block.textList()
    if items is None:
        return prefix + "  " * kind.indent()
    bullet = items.format()
    sign = _BULLETS.get(bullet.style(), f"{bullet.start()}.")
    box = {QTextBlockFormat.MarkerType.Unchecked: "☐ ", QTextBlockFormat.MarkerType.Checked: "☑ "}
    return prefix + "  " * (bullet.indent() - 1) + f"{sign} " + box.get(kind.marker(), "")


def _fragments(block: QTextBlock) -> Iterator[tuple[str, QTextCharFormat]]:
    iterator = block.begin()
    while not iterator.atEnd():
        yield iterator.fragment().text(), iterator.fragment().charFormat()
        iterator += 1


def _words(fragment: tuple[str, QTextCharFormat]) -> str:
    text, style = fragment
    if style.boolProperty(IS_OWN):
        return text
    if style.hasProperty(SOURCE) and not text.startswith("[picture"):
        return f"⟦{style.stringProperty(SOURCE)}⟧"
    text = text.replace("\u2028", "⏎")
    if style.fontFixedPitch():
        text = f"`{text}`"
    if style.fontWeight() > 500:
        text = f"**{text}**"
    if style.fontItalic():
        text = f"*{text}*"
    if style.fontStrikeOut():
        text = f"~{text}~"
    return f"{text}<{style.anchorHref()}>" if style.isAnchor() else text
