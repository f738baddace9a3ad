"""Markdown as plain text, for the clipboard."""

from __future__ import annotations

from PySide6.QtGui import QTextDocument

_FEATURES = QTextDocument.MarkdownFeature.MarkdownDialectGitHub | QTextDocument.MarkdownFeature.MarkdownNoHTML
_LINE_SEPARATOR = "\u2028"


def plain_text(markdown: str) -> str:
    """The words without marks; code stays as it is, cells of a table stand in lines."""
    document = QTextDocument()
    document.setMarkdown(markdown, _FEATURES)
    return document.toPlainText().replace(_LINE_SEPARATOR, "\n").strip("\n")
