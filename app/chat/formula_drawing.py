"""LaTeX to SVG, in pure Python, off the GUI thread."""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from app.chat.collection_pause import collection_paused

_LONGEST = 2_000
_VIEW_BOX = re.compile(r'viewBox="(\S+) (\S+) (\S+) (\S+)"')
# the formula font has no letters beyond these; Greek, arrows and operators are below
_FIRST_UNKNOWN = "\u2e80"


@dataclass(frozen=True, slots=True)
class FormulaRequest:
    """What to draw: `em_pixels` is the size of the text around it, `colour` is #rrggbb.

    `axis_pixels` is half the height of an x of that text, `pixel_ratio` the density of the screen.
    """

    latex: str
    is_display: bool
    em_pixels: float
    colour: str
    axis_pixels: float = 0.0
    pixel_ratio: float = 1.0


@dataclass(frozen=True, slots=True)
class FormulaSvg:
    """The drawing; pixels above and below the line that the text stands on."""

    svg: str
    width_pixels: float
    ascent_pixels: float
    descent_pixels: float


def draw_formula(request: FormulaRequest) -> FormulaSvg | None:
    """None if this is no LaTeX that can be drawn. Takes 5 to 100 ms, the first time half a second more."""
    latex = request.latex
    if len(latex) > _LONGEST or any(sign >= _FIRST_UNKNOWN for sign in latex):
        return None
    try:
        return _drawn(request)
    except Exception:  # noqa: BLE001 - whatever a parser of foreign text raises, the source is shown instead
        return None


def _drawn(request: FormulaRequest) -> FormulaSvg | None:
    # takes a while, and most conversations hold no formula
    from ziamath.config import config  # noqa: PLC0415
    from ziamath.zmath import Math  # noqa: PLC0415

    config.svg2 = False  # QtSvg knows no symbols
    formula = Math.fromlatex(
        request.latex, size=request.em_pixels, color=request.colour, inline=not request.is_display
    )
    # a command that is not known comes out as its own name
    return None if "\\" in formula.mathmlstr() else _measured(formula.svg())


def _measured(svg: str) -> FormulaSvg | None:
    match = _VIEW_BOX.search(svg)
    if match is None:
        return None
    _left, top, width, height = (float(each) for each in match.groups())
    return FormulaSvg(svg, width, -top, height + top)


class FormulaThread:
    """Draws one formula after the other in a thread that ends when there is nothing left to draw.

    `ask` and `take_drawn` may be called from any one thread; neither waits for the drawing.
    """

    def __init__(self, draw: Callable[[FormulaRequest], FormulaSvg | None] = draw_formula) -> None:
        self._draw = draw
        self._asked: deque[FormulaRequest] = deque()
        self._drawn: deque[tuple[FormulaRequest, FormulaSvg | None]] = deque()
        self._lock = threading.Lock()
        self._is_running = False

    def ask(self, request: FormulaRequest) -> None:
        """Draw it soon."""
        with self._lock:
            self._asked.append(request)
            if self._is_running:
                return
            self._is_running = True
        threading.Thread(target=self._run, name="formulas", daemon=True).start()

    def take_drawn(self) -> tuple[FormulaRequest, FormulaSvg | None] | None:
        """The next finished drawing, if there is one; None instead of an SVG says that it can't be drawn."""
        return self._drawn.popleft() if self._drawn else None

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._asked:
                    self._is_running = False
                    return
                request = self._asked.popleft()
            with collection_paused():
                self._drawn.append((request, self._draw(request)))
