"""What the first tokens of the last answers waited for."""

from __future__ import annotations

from PySide6.QtWidgets import QComboBox, QFormLayout, QLabel, QVBoxLayout, QWidget

from app.inspector.figure_table import FigureTable
from app.inspector.notice_page import NoticePage
from app.inspector.ttft_bars import TtftBars
from app.inspector.ttft_comparison import answer_title, comparison_words, phase_rows
from app.inspector.ttft_waterfall import TtftWaterfall
from app.telemetry_store import AnswerTiming, TelemetryStore

ANSWERS_SHOWN = 8


class TtftView(NoticePage):
    """Bars of the last answers, newest on top; one of them as a waterfall and in figures beside another."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._answers: tuple[AnswerTiming, ...] = ()
        self._bars, self._waterfall = TtftBars(), TtftWaterfall()
        self._chosen = self._choice("Answer shown", "Newest answer")
        self._other = self._choice("Answer to compare with", "The answer before it")
        self._sentence = QLabel()
        self._sentence.setWordWrap(True)
        self._sentence.setAccessibleName("Which phase grew first")
        self._table = FigureTable("Phases in milliseconds", ("Phase", "This", "Other", "Change"))
        choices = QFormLayout()
        choices.addRow("Answer", self._chosen)
        choices.addRow("Beside", self._other)
        layout = QVBoxLayout(self.content)
        layout.addWidget(self._bars, 1)
        layout.addLayout(choices)
        layout.addWidget(self._sentence)
        layout.addWidget(self._waterfall, 1)
        layout.addWidget(self._table)
        self._bars.answer_chosen.connect(self.choose_answer)

    def _choice(self, name: str, first: str) -> QComboBox:
        box = QComboBox()
        box.setAccessibleName(name)
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        box.addItem(first, None)
        box.activated.connect(self._show_chosen)
        return box

    @property
    def sentence(self) -> str:
        """What made the time grow."""
        return self._sentence.text()

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """Phases of the chosen answer and of the one beside it."""
        return self._table.rows

    def draw(self, store: TelemetryStore) -> None:
        """Show the newest answers."""
        answers = tuple(store.answers)[::-1]
        if not answers:
            self._answers = ()
            self.show_notice("No answer yet. Each answer adds a bar: what its first token waited for.")
            return
        self.show_notice("")
        if answers == self._answers:
            return
        self._answers = answers
        self._fill(self._chosen)
        self._fill(self._other)
        self._bars.draw(answers[:ANSWERS_SHOWN])
        self._show_chosen()

    def choose_answer(self, number: int) -> None:
        """Show this answer instead of the newest."""
        self._chosen.setCurrentIndex(max(0, self._chosen.findData(number)))
        self._show_chosen()

    def compare_with(self, number: int) -> None:
        """Put this answer beside the chosen one."""
        self._other.setCurrentIndex(max(0, self._other.findData(number)))
        self._show_chosen()

    def _fill(self, box: QComboBox) -> None:
        """Keeps the choice as long as that answer is there."""
        number = box.currentData()
        while box.count() > 1:
            box.removeItem(1)
        for answer in self._answers:
            box.addItem(answer_title(answer), answer.number)
        box.setCurrentIndex(max(0, box.findData(number)) if number is not None else 0)

    def _show_chosen(self) -> None:
        if not self._answers:
            return
        now = self._answer(self._chosen.currentData()) or self._answers[0]
        before = self._answer(self._other.currentData()) or self._answer(now.number - 1)
        self._sentence.setText(comparison_words(before, now) if before else answer_title(now))
        self._waterfall.draw(now.ttft, before.ttft if before else None)
        self._table.show_rows(phase_rows(now, before))

    def _answer(self, number: int | None) -> AnswerTiming | None:
        return next((answer for answer in self._answers if answer.number == number), None)
