"""What the first tokens of the last answers waited for."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from app.inspector.display_words import PHASE_WORDS, phase_values_ns
from app.inspector.figures import milliseconds_text
from app.inspector.notice_page import NoticePage
from app.inspector.plot_theme import plot_colours
from app.inspector.ttft_bars import TtftBars
from app.telemetry_store import AnswerTiming, TelemetryStore

ANSWERS_SHOWN = 8


class TtftView(NoticePage):
    """Stacked horizontal bars, newest answer on top, and the newest answer's phases in milliseconds."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._answers: tuple[AnswerTiming, ...] = ()
        self._bars = TtftBars()
        self._legend = QLabel()
        self._legend.setWordWrap(True)
        self._legend.setTextFormat(Qt.TextFormat.RichText)
        self._legend.setAccessibleName("Phases of the newest answer in milliseconds")
        layout = QVBoxLayout(self.content)
        layout.addWidget(self._bars, 1)
        layout.addWidget(self._legend)

    @property
    def legend_html(self) -> str:
        return self._legend.text()

    def draw(self, store: TelemetryStore) -> None:
        """Show the newest answers."""
        self._answers = tuple(store.answers)[-ANSWERS_SHOWN:][::-1]
        if not self._answers:
            self.show_notice("No answer yet. Each answer adds a bar: what its first token waited for.")
            return
        self.show_notice("")
        self._bars.draw(self._answers)
        self._show_legend()

    def _show_legend(self) -> None:
        if self._answers:
            colours = plot_colours(self.palette()).phases
            self._legend.setText(legend_html(self._answers[0], colours))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._show_legend()


def legend_html(answer: AnswerTiming, colours: Sequence[str]) -> str:
    """A table of phases: colour, words, milliseconds; the parts add up to the total below them."""
    title = f"Answer #{answer.number}" + (f" ({answer.model_name})" if answer.model_name else "")
    values = phase_values_ns(answer.ttft)
    rows = []
    for colour, words, value in zip(colours, PHASE_WORDS.values(), values, strict=True):
        rows.append(_legend_row(f'<span style="color:{colour}">■</span>', words, value))
        if words == "prefill":
            rows.append(_legend_row("▨", "of it waiting for disk", answer.ttft.prefill_disk_wait_ns))
    rows.append(_legend_row("", "<b>time to first token</b>", answer.ttft.total_ns))
    return f"<b>{title}</b><table>{''.join(rows)}</table>"


def _legend_row(swatch: str, words: str, value_ns: int) -> str:
    return (
        f"<tr><td>{swatch}&nbsp;</td><td>{words}&nbsp;&nbsp;</td>"
        f'<td align="right">{milliseconds_text(value_ns)}</td></tr>'
    )
