"""Puts formulas into a document: the source at first, the picture in its place once it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from PySide6.QtGui import QFont, QFontInfo, QFontMetrics, QTextCharFormat, QTextCursor, QTextImageFormat

from app.chat.block_pen import SOURCE
from app.chat.formula_drawing import FormulaRequest
from app.chat.formula_pictures import FormulaPicture, FormulaPictures
from app.chat.inline_styles import InlineStyles
from app.chat.inline_writer import LINE_BREAK

# the formula font is smaller than text fonts of the same size
_SIZE = 1.12


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A source in the document that a picture shall replace."""

    place: QTextCursor
    length: int
    shown: str
    source: str

    def select(self) -> QTextCursor | None:
        """The source, unless it was removed or written anew meanwhile."""
        cursor = QTextCursor(self.place)
        cursor.setPosition(self.place.position())
        cursor.setPosition(self.place.position() + self.length, QTextCursor.MoveMode.KeepAnchor)
        is_there = cursor.selectedText() == self.shown
        return cursor if is_there and cursor.charFormat().stringProperty(SOURCE) == self.source else None


class PictureFormulas:
    """Writes into one document in one font and set of colours. GUI thread.

    `around` is called with each change that comes later, so that the view can keep its place.
    """

    def __init__(
        self,
        pictures: FormulaPictures,
        styles: InlineStyles,
        font: QFont,
        pixel_ratio: float,
        around: Callable[[Callable[[], None]], None],
    ) -> None:
        self._pictures = pictures
        self._styles = styles
        self._model = FormulaRequest(
            latex="",
            is_display=False,
            em_pixels=QFontInfo(font).pixelSize() * _SIZE,
            colour=styles.colours.text.name(),
            axis_pixels=QFontMetrics(font).xHeight() / 2,
            pixel_ratio=pixel_ratio,
        )
        self._around = around
        self._waiting: dict[FormulaRequest, list[_Waiting]] = {}
        pictures.drawn.connect(self._replace)

    def stop(self) -> None:
        """The document is written anew: forget what waits."""
        self._waiting.clear()
        self._pictures.drawn.disconnect(self._replace)

    def write(self, cursor: QTextCursor, latex: str, source: str, is_display: bool) -> None:
        """At the cursor, which then stands behind it."""
        request = replace(self._model, latex=latex, is_display=is_display)
        picture = self._pictures.picture(request)
        if picture is not None:
            self._insert(cursor, picture, source)
            return
        place = QTextCursor(cursor)
        place.setKeepPositionOnInsert(True)
        shown = latex.replace("\n", LINE_BREAK)
        cursor.insertText(shown, self._styles.formula_source(source))
        if not self._pictures.is_refused(request):
            waiting = _Waiting(place, cursor.position() - place.position(), shown, source)
            self._waiting.setdefault(request, []).append(waiting)

    def _replace(self, request: FormulaRequest) -> None:
        waiting = self._waiting.pop(request, [])
        picture = self._pictures.picture(request)
        if waiting and picture is not None:
            self._around(lambda: self._replace_all(waiting, picture))

    def _replace_all(self, waiting: list[_Waiting], picture: FormulaPicture) -> None:
        waiting[0].place.beginEditBlock()
        for each in waiting:
            cursor = each.select()
            if cursor is not None:
                cursor.removeSelectedText()
                self._insert(cursor, picture, each.source)
        waiting[0].place.endEditBlock()

    def _insert(self, cursor: QTextCursor, picture: FormulaPicture, source: str) -> None:
        style = QTextImageFormat()
        style.setName(picture.url)
        style.setProperty(SOURCE, source)
        style.setToolTip(source)
        style.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignMiddle)
        style.setWidth(picture.width_pixels)
        style.setHeight(picture.height_pixels)
        cursor.insertImage(style)
