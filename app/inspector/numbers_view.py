"""The counters themselves, as the engine reports them."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from app.inspector.evidence import WINDOW_SECONDS
from app.inspector.figure_table import FigureTable
from app.inspector.figures import (
    UNKNOWN,
    count_text,
    milliseconds_text,
    percent_text,
    rate_text,
    speed_text,
)
from app.inspector.memory_figures import bytes_per_token, kv_bytes_per_token
from app.inspector.wrapped_label import wrapped_label
from app.telemetry_store import TelemetryStore
from app.window_totals import WindowTotals, hit_share, speed_per_second
from engine.config import format_size
from engine.events import Counters, EngineState
from engine.model_facts import ModelInfo

NOT_MEASURED_WORDS = "not measured"
_REASON_WORDS = {
    "dense": "read for dense weights",
    "miss": "read for missing experts",
    "stream": "read ahead of need",
    "promote": "read for the hot zone",
    "row": "read from row tables",
    "warm_up": "read by warm-ups",
}


class NumbersView(QWidget):
    """Cumulative counters, planned sizes, and what decoding asks of memory; asks for a measurement of it."""

    measure_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: TelemetryStore | None = None
        self._other: TelemetryStore | None = None
        self._other_name = ""
        self.is_live, self._is_measuring = True, False
        self._runs = FigureTable("Runs", ("Compared with a recording", "", ""))
        self._counters = FigureTable("Counters", ("Since the model was loaded", "", ""))
        self._sizes = FigureTable("Sizes", ("Planned sizes", "", ""))
        self._memory = FigureTable("Memory", ("What decoding asks of memory", "", ""))
        self._stop = QPushButton("Stop comparing")
        self._stop.clicked.connect(lambda: self.compare_with(None, ""))
        self._measure = QPushButton("Measure memory and drive")
        self._measure.setToolTip("Takes about two seconds, and 256 MiB of memory while it runs.")
        self._measure.clicked.connect(self.measure_wanted)
        self._fault = wrapped_label("Why nothing was measured")
        layout = QVBoxLayout(self)
        layout.addWidget(self._runs)
        layout.addWidget(self._stop)
        layout.addWidget(self._counters)
        layout.addWidget(self._sizes)
        layout.addWidget(self._memory)
        layout.addWidget(self._measure)
        layout.addWidget(self._fault)
        layout.addStretch(1)
        self.compare_with(None, "")
        self.show_measuring(False)

    @property
    def texts(self) -> dict[str, str]:
        """Figure per name, of all tables."""
        rows = self._counters.rows + self._sizes.rows + self._memory.rows
        return {row[0]: row[1] for row in rows}

    @property
    def other_texts(self) -> dict[str, str]:
        """Figure per name of the recording beside; empty texts without one."""
        rows = self._runs.rows + self._counters.rows + self._sizes.rows + self._memory.rows
        return {row[0]: row[2] for row in rows}

    def compare_with(self, other: TelemetryStore | None, name: str) -> None:
        """Put the figures of another run beside; None ends that."""
        self._other, self._other_name = other, name
        self._runs.setVisible(other is not None)
        self._stop.setVisible(other is not None)
        if self._shown is not None:
            self.draw(self._shown)

    @property
    def measure_button(self) -> QPushButton:
        return self._measure

    @property
    def fault_text(self) -> str:
        """Why the last measurement failed; empty if it didn't."""
        return self._fault.text()

    def show_measuring(self, is_running: bool, fault: str = "") -> None:
        """A measurement has begun, or ended well or with a fault."""
        self._measure.setText("Measuring…" if is_running else "Measure memory and drive")
        self._is_measuring = is_running
        self._fault.setText(fault)
        self._fault.setVisible(bool(fault))
        self._enable_measuring()

    def _enable_measuring(self) -> None:
        """What runs beside it would be slowed, and measured with it."""
        is_idle = self._shown is not None and self._shown.state is EngineState.READY
        self._measure.setEnabled(is_idle and self.is_live and not self._is_measuring)

    def draw(self, store: TelemetryStore) -> None:
        """Show the newest counters."""
        self._shown = store
        self._enable_measuring()
        tables = self._runs, self._counters, self._sizes, self._memory
        rows = self._rows(store)
        others = (
            self._rows(self._other) if self._other else [[(name, "") for name, _ in part] for part in rows]
        )
        for table, part, other in zip(tables, rows, others, strict=True):
            table.show_rows(
                [(name, figure, beside) for (name, figure), (_, beside) in zip(part, other, strict=True)]
            )

    def _rows(self, store: TelemetryStore) -> list[list[tuple[str, str]]]:
        window = store.rates.window(WINDOW_SECONDS)
        return [
            [
                ("run", self._other_name if store is self._other else "shown"),
                ("model", store.model.name if store.model else UNKNOWN),
            ],
            counter_rows(store.counters),
            size_rows(store.model, store.context_used_tokens),
            memory_rows(store, window),
        ]


def counter_rows(counters: Counters | None) -> list[tuple[str, str]]:
    """(name, figure) pairs; n/a before the first sample."""
    c = counters
    reasons = c.bytes_by_reason if c else {}
    return [
        ("bytes read", format_size(c.bytes_read) if c else UNKNOWN),
        *((words, _size(reasons.get(reason))) for reason, words in _REASON_WORDS.items()),
        ("expert requests", count_text(c.expert_requests if c else None)),
        ("expert misses", count_text(c.expert_misses if c else None)),
        ("experts read ahead", count_text(c.expert_streamed if c else None)),
        ("of them used", count_text(c.expert_streamed_used if c else None)),
        ("hit rate", percent_text(hit_share(c.expert_requests, c.expert_misses) if c else None)),
        ("evictions", count_text(c.evictions if c else None)),
        ("passes", count_text(c.passes if c else None)),
        ("tokens in prefill", count_text(c.prefill_tokens if c else None)),
        ("tokens in decode", count_text(c.decode_tokens if c else None)),
        ("prefill speed", speed_text(speed_per_second(c.prefill_tokens, c.prefill_ns, 0) if c else None)),
        ("decode speed", speed_text(speed_per_second(c.decode_tokens, c.decode_ns, 0) if c else None)),
        ("disk wait in prefill", milliseconds_text(c.disk_wait_prefill_ns) if c else UNKNOWN),
        ("disk wait in decode", milliseconds_text(c.disk_wait_decode_ns) if c else UNKNOWN),
        ("link wait in prefill", milliseconds_text(c.transfer_wait_prefill_ns) if c else UNKNOWN),
        ("link wait in decode", milliseconds_text(c.transfer_wait_decode_ns) if c else UNKNOWN),
        ("copied to devices", format_size(sum(c.bytes_by_link.values())) if c else UNKNOWN),
        ("experts copied ahead", count_text(c.expert_copied_ahead if c else None)),
        ("of these used", count_text(c.expert_copied_ahead_used if c else None)),
        ("failed reads", count_text(c.read_errors if c else None)),
    ]


def size_rows(model: ModelInfo | None, context_used_tokens: int) -> list[tuple[str, str]]:
    """(name, figure) pairs; n/a without a model."""
    m = model
    return [
        ("RAM budget", _size(m.ram_budget_bytes if m else None)),
        ("expert slots", _share_of_budget(m) if m else UNKNOWN),
        ("dense weights", _size(m.dense_bytes if m else None)),
        ("context (KV cache)", _size(m.kv_bytes if m else None)),
        ("of it filled", _filled_words(m, context_used_tokens) if m else UNKNOWN),
        ("growth per token", _size(kv_bytes_per_token(m) if m else None)),
        ("compute buffers", _size(m.compute_bytes if m else None)),
        ("file", _size(m.file_bytes if m else None)),
        ("tokens per unit", count_text(m.unit_tokens if m else None)),
        ("direct reads", UNKNOWN if m is None else "yes" if m.is_direct_io else "no, through the page cache"),
    ]


def memory_rows(store: TelemetryStore, window: WindowTotals | None) -> list[tuple[str, str]]:
    """(name, figure) pairs: what must come from memory per token, and at the speed of the last seconds."""
    model, measured, drive = store.model, store.measured_memory_bytes_per_second, store.drive_ceiling
    per_token = bytes_per_token(model) if model else None
    speed = window.decode_tokens_per_second if window else None
    needed = per_token * speed if per_token is not None and speed is not None else None
    at_most = "at most " if model and len(model.slot_classes) > 1 else ""
    return [
        ("weights per decoded token", UNKNOWN if per_token is None else at_most + format_size(per_token)),
        ("decode speed lately", speed_text(speed)),
        ("needed memory bandwidth", rate_text(needed)),
        ("measured memory bandwidth", rate_text(measured) if measured else NOT_MEASURED_WORDS),
        ("read from disk meanwhile", rate_text(window.bytes_per_second if window else None)),
        (
            "measured maximum of the drive",
            rate_text(drive.bytes_per_second) if drive.is_measured else NOT_MEASURED_WORDS,
        ),
    ]


def _filled_words(model: ModelInfo, used_tokens: int) -> str:
    size = format_size(used_tokens * kv_bytes_per_token(model))
    return f"{size} ({count_text(used_tokens)} of {count_text(model.context_tokens)} tokens)"


def _share_of_budget(model: ModelInfo) -> str:
    size = format_size(model.slots_bytes)
    if not model.ram_budget_bytes:
        return size
    return f"{size} ({percent_text(model.slots_bytes / model.ram_budget_bytes)} of the budget)"


def _size(size_bytes: int | None) -> str:
    return UNKNOWN if size_bytes is None else format_size(size_bytes)
