"""The counters themselves, as the engine reports them."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.counter_rates import hit_share
from app.inspector.figure_table import FigureTable
from app.inspector.figures import UNKNOWN, count_text, milliseconds_text, percent_text
from app.telemetry_store import TelemetryStore
from engine.config import format_size
from engine.events import Counters, ModelInfo

_REASON_WORDS = {
    "dense": "read for dense weights",
    "miss": "read for missing experts",
    "stream": "read ahead of need",
}


class NumbersView(QWidget):
    """A table of cumulative counters and planned sizes; nothing here is derived but the hit rate."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._counters = FigureTable("Counters", ("Since the model was loaded", ""))
        self._sizes = FigureTable("Sizes", ("Planned sizes", ""))
        layout = QVBoxLayout(self)
        layout.addWidget(self._counters)
        layout.addWidget(self._sizes)
        layout.addStretch(1)

    @property
    def texts(self) -> dict[str, str]:
        """Figure per name, of both tables."""
        return {row[0]: row[1] for row in self._counters.rows + self._sizes.rows}

    def draw(self, store: TelemetryStore) -> None:
        """Show the newest counters."""
        self._counters.show_rows(counter_rows(store.counters))
        self._sizes.show_rows(size_rows(store.model))


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
        ("disk wait in prefill", milliseconds_text(c.disk_wait_prefill_ns) if c else UNKNOWN),
        ("disk wait in decode", milliseconds_text(c.disk_wait_decode_ns) if c else UNKNOWN),
        ("failed reads", count_text(c.read_errors if c else None)),
    ]


def size_rows(model: ModelInfo | None) -> list[tuple[str, str]]:
    """(name, figure) pairs; n/a without a model."""
    m = model
    return [
        ("RAM budget", _size(m.ram_budget_bytes if m else None)),
        ("expert slots", _share_of_budget(m) if m else UNKNOWN),
        ("dense weights", _size(m.dense_bytes if m else None)),
        ("context (KV cache)", _size(m.kv_bytes if m else None)),
        ("compute buffers", _size(m.compute_bytes if m else None)),
        ("file", _size(m.file_bytes if m else None)),
        ("tokens per unit", count_text(m.unit_tokens if m else None)),
        ("direct reads", UNKNOWN if m is None else "yes" if m.is_direct_io else "no, through the page cache"),
    ]


def _share_of_budget(model: ModelInfo) -> str:
    size = format_size(model.slots_bytes)
    if not model.ram_budget_bytes:
        return size
    return f"{size} ({percent_text(model.slots_bytes / model.ram_budget_bytes)} of the budget)"


def _size(size_bytes: int | None) -> str:
    return UNKNOWN if size_bytes is None else format_size(size_bytes)
