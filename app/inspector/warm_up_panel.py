"""The warm-up button: what it will do, how far it is, and what it changed."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QPushButton, QVBoxLayout, QWidget

from app.inspector.figure_table import FigureTable
from app.inspector.figures import (
    UNKNOWN,
    count_text,
    milliseconds_text,
    percent_text,
    rate_text,
    seconds_text,
)
from app.telemetry_store import AnswerTiming, TelemetryStore
from engine.config import format_size
from engine.events import EngineState, WarmUpFinished
from engine.model_facts import ModelInfo


class WarmUpPanel(QWidget):
    """Nothing is warmed up unless the button is pressed; `stop_wanted` while it runs."""

    wanted = Signal()
    stop_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = QLabel()
        self._words.setWordWrap(True)
        self._words.setAccessibleName("What a warm-up does")
        self._button = QPushButton("Warm up")
        self._progress = QProgressBar()
        self._progress.setAccessibleName("Progress of the warm-up")
        self._progress.setVisible(False)
        self._table = FigureTable("Before and after the warm-up", ("Last warm-up", "Before", "After"))
        self._table.setVisible(False)
        self._is_running = False
        row = QHBoxLayout()
        row.addWidget(self._button)
        row.addWidget(self._progress, 1)
        row.addStretch(0)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        for widget in (self._words, self._table):
            layout.addWidget(widget)
        layout.insertLayout(1, row)
        self._button.clicked.connect(self._clicked)

    @property
    def words(self) -> str:
        return self._words.text()

    @property
    def button(self) -> QPushButton:
        return self._button

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """Before and after; empty if there was no warm-up."""
        return self._table.rows if not self._table.isHidden() else ()

    def draw(self, store: TelemetryStore, is_live: bool) -> None:
        """A recording's warm-ups can be looked at, but not asked for."""
        self._is_running = store.state is EngineState.WARMING_UP
        self._button.setText("Cancel" if self._is_running else "Warm up")
        self._button.setEnabled(is_live and (self._is_running or store.state is EngineState.READY))
        self._words.setText(_running_words(store) if self._is_running else plan_words(store))
        self._show_progress(store)
        self._table.setVisible(store.warm_up is not None)
        if store.warm_up is not None:
            self._table.show_rows(change_rows(store.warm_up, *answers_around(store)))

    def _clicked(self) -> None:
        wish = self.stop_wanted if self._is_running else self.wanted
        wish.emit()

    def _show_progress(self, store: TelemetryStore) -> None:
        self._progress.setVisible(self._is_running)
        progress = store.warm_up_progress
        if progress is not None and progress.total_experts:
            self._progress.setRange(0, progress.total_experts)
            self._progress.setValue(progress.done_experts)
        else:
            self._progress.setRange(0, 0)


def plan_words(store: TelemetryStore) -> str:
    """What the button would do, and at most how long it takes."""
    model = store.model
    if model is None:
        return "A warm-up needs a loaded model."
    return (
        "A warm-up reads the experts that will most likely be wanted into the slots, so that the next prompt "
        f"waits less for the disk: at most {format_size(model.slots_bytes)}{_duration_words(model, store)}. "
        "With exact routing answers stay the same."
    )


def _duration_words(model: ModelInfo, store: TelemetryStore) -> str:
    drive = store.drive_ceiling
    if not drive.bytes_per_second:
        return ""
    longest_ns = round(model.slots_bytes / drive.bytes_per_second * 1e9)
    whose = "the drive’s" if drive.is_measured else "the highest rate seen,"
    return f", {seconds_text(longest_ns)} at {whose} {rate_text(drive.bytes_per_second)}"


def _running_words(store: TelemetryStore) -> str:
    progress = store.warm_up_progress
    if progress is None:
        return f"Warming up; progress: {UNKNOWN}."
    return (
        f"{count_text(progress.done_experts)} of {count_text(progress.total_experts)} missing experts are in "
        f"memory, {format_size(progress.bytes_read)} read. Cancel keeps what has come."
    )


def answers_around(store: TelemetryStore) -> tuple[AnswerTiming | None, AnswerTiming | None]:
    """The last answer before the warm-up and the first after it."""
    before = next((a for a in reversed(store.answers) if a.number <= store.warm_up_answers), None)
    after = next((a for a in store.answers if a.number > store.warm_up_answers), None)
    return before, after


def change_rows(
    done: WarmUpFinished, before: AnswerTiming | None, after: AnswerTiming | None
) -> list[tuple[str, str, str]]:
    """(name, before, after); what an answer must tell is n/a until there is one."""
    return [
        ("experts read", "", f"{count_text(done.experts_loaded)} ({format_size(done.bytes_read)})"),
        ("took", "", seconds_text(done.elapsed_ns)),
        (
            "expected hit rate",
            percent_text(done.expected_hit_rate_before),
            percent_text(done.expected_hit_rate_after),
        ),
        ("answer", _number(before), _number(after)),
        ("time to first token", _ttft(before), _ttft(after)),
        ("disk wait before it", _wait(before), _wait(after)),
        ("read for the answer", _read(before), _read(after)),
    ]


def _number(answer: AnswerTiming | None) -> str:
    return f"#{answer.number}" if answer else UNKNOWN


def _ttft(answer: AnswerTiming | None) -> str:
    return milliseconds_text(answer.ttft.total_ns) if answer else UNKNOWN


def _wait(answer: AnswerTiming | None) -> str:
    return milliseconds_text(answer.ttft.prefill_disk_wait_ns) if answer else UNKNOWN


def _read(answer: AnswerTiming | None) -> str:
    return format_size(answer.usage.bytes_read) if answer else UNKNOWN
