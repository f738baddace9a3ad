"""Markdown of a finished answer as rich text: no HTML, no pictures, only web links."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from PySide6.QtCore import QUrl
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontDatabase,
    QPalette,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextTable,
)

_FEATURES = QTextDocument.MarkdownFeature.MarkdownDialectGitHub | QTextDocument.MarkdownFeature.MarkdownNoHTML
_CODE_MARGIN = 10
_SAFE_SCHEMES = ("http", "https", "mailto")


@dataclass(frozen=True, slots=True)
class TextColours:
    """Colours of the transcript, taken from a palette."""

    text: QColor
    muted: QColor
    code: QColor
    user: QColor
    line: QColor
    link: QColor
    fault: QColor

    @classmethod
    def of(cls, palette: QPalette) -> TextColours:
        """Muted text keeps a contrast above 4.5:1 on this program's palettes."""
        text = palette.color(QPalette.ColorRole.Text)
        base = palette.color(QPalette.ColorRole.Base)
        accent = palette.color(QPalette.ColorRole.Highlight)
        is_dark = text.lightness() > base.lightness()
        return cls(
            text=text,
            muted=blend(base, text, 0.66),
            code=blend(base, text, 0.07),
            user=blend(base, accent, 0.17 if is_dark else 0.12),
            line=blend(base, text, 0.25),
            link=palette.color(QPalette.ColorRole.Link),
            fault=QColor("#ff9d8c" if is_dark else "#b3261e"),
        )


def blend(first: QColor, second: QColor, share: float) -> QColor:
    """`share` of the second colour over the first."""

    def mix(a: int, b: int) -> int:
        return round(a + (b - a) * share)

    return QColor(
        mix(first.red(), second.red()), mix(first.green(), second.green()), mix(first.blue(), second.blue())
    )


def fixed_font_families() -> list[str]:
    """The system's fixed-width font first."""
    return [QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont).family(), "monospace"]


def markdown_document(
    text: str, font: QFont, colours: TextColours, code_link: Callable[[str], str]
) -> QTextDocument:
    """A document to insert elsewhere; `code_link` gives the target of a code block's copy link."""
    document = QTextDocument()
    document.setUndoRedoEnabled(False)
    document.setDefaultFont(font)
    document.setMarkdown(text, _FEATURES)
    _style_characters(document, colours)
    _style_tables(document, colours)
    for start, end in reversed(list(_code_ranges(document))):
        _style_code(document, start, end, colours, code_link)
    return document


def blocks_of(document: QTextDocument) -> Iterator[QTextBlock]:
    block = document.begin()
    while block.isValid():
        yield block
        block = block.next()


def is_code(block: QTextBlock) -> bool:
    """Whether the block is a line of a fenced or indented code block."""
    block_format = block.blockFormat()
    return any(
        block_format.hasProperty(kind)
        for kind in (QTextFormat.Property.BlockCodeLanguage, QTextFormat.Property.BlockCodeFence)
    )


def _style_characters(document: QTextDocument, colours: TextColours) -> None:
    """Disarm links that are not for the web, drop pictures, colour inline code."""
    spans = [span for block in blocks_of(document) for span in _spans(block) if _needs_style(span[2])]
    cursor = QTextCursor(document)
    for start, length, style in reversed(spans):
        cursor.setPosition(start)
        cursor.setPosition(start + length, QTextCursor.MoveMode.KeepAnchor)
        if style.isImageFormat():
            cursor.insertText(f"[picture: {style.toImageFormat().name()}]", QTextCharFormat())
        elif style.isAnchor():
            cursor.setCharFormat(_link_format(style, colours))
        else:
            style.setFontFamilies(fixed_font_families())
            style.setBackground(colours.code)
            cursor.setCharFormat(style)


def _needs_style(style: QTextCharFormat) -> bool:
    return style.isImageFormat() or style.isAnchor() or style.fontFixedPitch()


def _spans(block: QTextBlock) -> Iterator[tuple[int, int, QTextCharFormat]]:
    iterator = block.begin()
    while not iterator.atEnd():
        fragment = iterator.fragment()
        yield fragment.position(), fragment.length(), fragment.charFormat()
        iterator += 1


def _link_format(style: QTextCharFormat, colours: TextColours) -> QTextCharFormat:
    address = QUrl(style.anchorHref())
    if address.scheme().lower() in _SAFE_SCHEMES:
        style.setForeground(colours.link)
        style.setToolTip(address.toString())
    else:
        style.setAnchor(False)
        style.setAnchorHref("")
        style.setFontUnderline(False)
        style.clearForeground()
    return style


def _style_tables(document: QTextDocument, colours: TextColours) -> None:
    for frame in document.rootFrame().childFrames():
        if isinstance(frame, QTextTable):
            table_format = frame.format()
            table_format.setBorder(1)
            table_format.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
            table_format.setBorderBrush(colours.line)
            table_format.setBorderCollapse(True)
            table_format.setCellPadding(5)
            table_format.setCellSpacing(0)
            frame.setFormat(table_format)


def _code_ranges(document: QTextDocument) -> Iterator[tuple[int, int]]:
    """First and last block number of each run of code lines of one language."""
    run: list[int] = []
    for block in blocks_of(document):
        is_next = is_code(block) and (not run or not _begins_code(block))
        if run and not is_next:
            yield run[0], run[-1]
            run = []
        if is_code(block):
            run.append(block.blockNumber())
    if run:
        yield run[0], run[-1]


def _begins_code(block: QTextBlock) -> bool:
    language = QTextFormat.Property.BlockCodeLanguage
    return bool(block.blockFormat().property(language) != block.previous().blockFormat().property(language))


def _style_code(
    document: QTextDocument, first: int, last: int, colours: TextColours, code_link: Callable[[str], str]
) -> None:
    blocks = [document.findBlockByNumber(number) for number in range(first, last + 1)]
    code = "\n".join(block.text() for block in blocks)
    language = blocks[0].blockFormat().stringProperty(QTextFormat.Property.BlockCodeLanguage)
    for block in blocks:
        _style_code_line(block, colours, is_last=block == blocks[-1])
    _insert_code_title(blocks[0], language, colours, code_link(code))


def _style_code_line(block: QTextBlock, colours: TextColours, is_last: bool) -> None:
    cursor = QTextCursor(block)
    block_format = block.blockFormat()
    block_format.setBackground(colours.code)
    block_format.setNonBreakableLines(False)
    block_format.setLeftMargin(_CODE_MARGIN)
    block_format.setRightMargin(_CODE_MARGIN)
    block_format.setTopMargin(0)
    block_format.setBottomMargin(_CODE_MARGIN if is_last else 0)
    cursor.setBlockFormat(block_format)
    cursor.select(QTextCursor.SelectionType.BlockUnderCursor)
    style = QTextCharFormat()
    style.setFontFamilies(fixed_font_families())
    style.setFontFixedPitch(True)
    style.clearBackground()
    cursor.mergeCharFormat(style)


def _insert_code_title(block: QTextBlock, language: str, colours: TextColours, target: str) -> None:
    cursor = QTextCursor(block)
    code_format = block.blockFormat()
    cursor.insertBlock()
    cursor.setBlockFormat(code_format)
    cursor.movePosition(QTextCursor.MoveOperation.PreviousBlock)
    title_format = QTextBlockFormat()
    title_format.setLeftMargin(_CODE_MARGIN)
    title_format.setTopMargin(_CODE_MARGIN)
    cursor.setBlockFormat(title_format)
    muted = QTextCharFormat()
    muted.setForeground(colours.muted)
    cursor.insertText(f"{language} · " if language else "", muted)
    cursor.insertText("Copy code", link_format(colours, target))


def link_format(colours: TextColours, target: str) -> QTextCharFormat:
    """A link of the program's own, beside the text."""
    style = QTextCharFormat()
    style.setAnchor(True)
    style.setAnchorHref(target)
    style.setForeground(colours.link)
    return style
