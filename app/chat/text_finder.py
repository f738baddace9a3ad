"""Finds text in what a browser shows, round its end and round its beginning."""

from __future__ import annotations

from PySide6.QtGui import QTextCursor, QTextDocument
from PySide6.QtWidgets import QTextBrowser


class TextFinder:
    """Whatever its case; a match is selected and scrolled to. GUI thread."""

    def __init__(self, browser: QTextBrowser) -> None:
        self._browser = browser

    def find(self, text: str, backward: bool = False) -> bool:
        """Select the next match, or the one before; after the last comes the first."""
        flag = QTextDocument.FindFlag.FindBackward if backward else QTextDocument.FindFlag(0)
        if self._browser.find(text, flag):
            return True
        place = self._browser.textCursor()
        end = QTextCursor.MoveOperation.End if backward else QTextCursor.MoveOperation.Start
        self._browser.moveCursor(end)
        if self._browser.find(text, flag):
            return True
        self._browser.setTextCursor(place)
        return False

    def match_count(self, text: str) -> int:
        return self._browser.toPlainText().casefold().count(text.casefold()) if text else 0
