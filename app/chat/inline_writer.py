"""Writes running text with its emphasis, links, formulas and (never fetched) pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from markdown_it.token import Token
from PySide6.QtGui import QTextCursor

from app.chat import math_rules
from app.chat.block_pen import SOURCE
from app.chat.inline_styles import InlineStyles, Look, web_address

_CHANGES = {
    "strong_open": {"is_bold": True},
    "em_open": {"is_italic": True},
    "s_open": {"is_struck": True},
}
LINE_BREAK = "\u2028"


class FormulaWriter(Protocol):
    """Draws a formula at the cursor, or its source until it is drawn."""

    def write(self, cursor: QTextCursor, latex: str, source: str, is_display: bool) -> None: ...


class SourceOnly:
    """Shows formulas as they were written."""

    def __init__(self, styles: InlineStyles) -> None:
        self._styles = styles

    def write(self, cursor: QTextCursor, latex: str, source: str, is_display: bool) -> None:
        cursor.insertText(latex.replace("\n", LINE_BREAK), self._styles.formula_source(source))


def formula_source(token: Token) -> str:
    """The formula with the signs it was written with."""
    return str(token.meta[math_rules.SOURCE])


class InlineWriter:
    """GUI thread."""

    def __init__(self, styles: InlineStyles, formulas: FormulaWriter) -> None:
        self._styles = styles
        self._formulas = formulas

    def write(self, cursor: QTextCursor, tokens: Sequence[Token], look: Look) -> None:
        """Write tokens that stand in one block."""
        looks = [look]
        hidden_address = ""
        for token in tokens:
            if token.nesting > 0:
                address = web_address(str(token.attrs.get("href", "")))
                if token.type == "link_open" and not address:
                    hidden_address = str(token.attrs.get("href", ""))
                change = _CHANGES.get(token.type, {"address": address} if address else {})
                looks.append(replace(looks[-1], **change))
            elif token.nesting < 0:
                looks.pop()
                if token.type == "link_close" and hidden_address:
                    cursor.insertText(f" ({hidden_address})", self._styles.of(looks[-1]))
                    hidden_address = ""
            else:
                self._write_one(cursor, token, looks[-1])

    def _write_one(self, cursor: QTextCursor, token: Token, look: Look) -> None:
        if token.type in ("text", "text_special"):
            cursor.insertText(token.content, self._styles.of(look))
        elif token.type == "code_inline":
            cursor.insertText(token.content, self._styles.of(replace(look, is_code=True)))
        elif token.type in ("softbreak", "hardbreak"):
            cursor.insertText(LINE_BREAK, self._styles.of(look))
        elif token.type == "math_inline":
            is_display = token.markup in ("$$", "\\[")
            self._formulas.write(cursor, token.content, formula_source(token), is_display)
        elif token.type == "image":
            self._write_picture(cursor, token, look)

    def _write_picture(self, cursor: QTextCursor, token: Token, look: Look) -> None:
        """Its words and address: fetching it would tell its host who reads this."""
        address = str(token.attrs.get("src", ""))
        words = f"{token.content}: {address}" if token.content else address
        style = self._styles.of(replace(look, is_muted=True, address=web_address(address)))
        style = type(style)(style)
        style.setProperty(SOURCE, f"![{token.content}]({address})")
        cursor.insertText(f"[picture: {words}]", style)
