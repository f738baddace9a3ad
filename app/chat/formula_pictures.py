"""Formulas as pictures: drawn once per look, kept for every conversation."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass
from itertools import count

from PySide6.QtCore import QByteArray, QObject, QRectF, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

from app.chat.formula_drawing import FormulaRequest, FormulaSvg, FormulaThread

FORMULA_SCHEME = "formula"
_MOST_PICTURES = 1_000
_POLL_MS = 15
_BUDGET_SECONDS = 0.006


@dataclass(frozen=True, slots=True)
class FormulaPicture:
    """`url` names it in a document; sizes are in pixels that do not depend on the screen's density."""

    url: str
    image: QImage
    width_pixels: float
    height_pixels: float


class FormulaPictures(QObject):
    """GUI thread; the drawing is done in another one. `drawn` says that a request has an answer."""

    drawn = Signal(object)

    def __init__(self, parent: QObject | None = None, thread: FormulaThread | None = None) -> None:
        super().__init__(parent)
        self._thread = thread or FormulaThread()
        self._pictures: OrderedDict[FormulaRequest, FormulaPicture | None] = OrderedDict()
        self._by_url: dict[str, FormulaPicture] = {}
        self._asked: set[FormulaRequest] = set()
        self._numbers = count(1)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._take)

    def picture(self, request: FormulaRequest) -> FormulaPicture | None:
        """The picture if it is drawn. Otherwise it will be, unless that can't be done."""
        if request in self._pictures:
            self._pictures.move_to_end(request)
            return self._pictures[request]
        if request not in self._asked:
            self._asked.add(request)
            self._thread.ask(request)
            self._timer.start(_POLL_MS)
        return None

    def is_refused(self, request: FormulaRequest) -> bool:
        """Whether it can't be drawn."""
        return request in self._pictures and self._pictures[request] is None

    def image(self, url: QUrl) -> QImage | None:
        """The picture behind a document's picture name."""
        picture = self._by_url.get(url.toString())
        return picture.image if picture else None

    def _take(self) -> None:
        end = time.perf_counter() + _BUDGET_SECONDS
        while time.perf_counter() < end and (answer := self._thread.take_drawn()) is not None:
            request, svg = answer
            self._asked.discard(request)
            self._keep(request, None if svg is None else self._painted(request, svg))
            self.drawn.emit(request)
        if not self._asked:
            self._timer.stop()

    def _keep(self, request: FormulaRequest, picture: FormulaPicture | None) -> None:
        self._pictures[request] = picture
        if picture is not None:
            self._by_url[picture.url] = picture
        while len(self._pictures) > _MOST_PICTURES:
            _oldest, dropped = self._pictures.popitem(last=False)
            if dropped is not None:
                self._by_url.pop(dropped.url, None)

    def _painted(self, request: FormulaRequest, svg: FormulaSvg) -> FormulaPicture:
        """With room above or below, so that its middle lies on the text's axis when the text is laid out."""
        above = max(svg.ascent_pixels, svg.descent_pixels + request.axis_pixels)
        below = max(svg.descent_pixels, svg.ascent_pixels - request.axis_pixels)
        ratio, drawn_height = request.pixel_ratio, svg.ascent_pixels + svg.descent_pixels
        image = QImage(
            max(round(svg.width_pixels * ratio), 1),
            max(round((above + below) * ratio), 1),
            QImage.Format.Format_ARGB32_Premultiplied,
        )
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        painter.scale(ratio, ratio)
        area = QRectF(0, above - svg.ascent_pixels, svg.width_pixels, drawn_height)
        QSvgRenderer(QByteArray(svg.svg.encode())).render(painter, area)
        painter.end()
        return FormulaPicture(
            f"{FORMULA_SCHEME}:{next(self._numbers)}", image, svg.width_pixels, above + below
        )
