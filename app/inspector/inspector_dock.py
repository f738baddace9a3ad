"""The dock that shows, live, where experts live and what the engine waits for."""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import (
    QDockWidget,
    QPushButton,
    QScrollArea,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from app.inspector.budget_panel import BudgetPanel
from app.inspector.evidence import WINDOW_SECONDS, Evidence
from app.inspector.expert_view import ExpertView
from app.inspector.fidelity_meter import FidelityMeter
from app.inspector.layers_view import LayersView
from app.inspector.memory_figures import context_words
from app.inspector.narrow_tabs import make_narrow
from app.inspector.numbers_view import NumbersView
from app.inspector.rate_probe import MeasuredRates, RateProbe
from app.inspector.replay_bar import ReplayBar
from app.inspector.slot_figures import resident_share
from app.inspector.slots_view import SlotsView
from app.inspector.time_view import TimeView
from app.inspector.ttft_view import TtftView
from app.inspector.verdict import verdict
from app.inspector.verdict_bar import VerdictBar
from app.playback import Playback
from app.telemetry_store import TelemetryStore
from engine.telemetry.gpu_sampler import GpuSample

REFRESH_MS = 220  # 4-5 times a second: at 10 Hz drawing cost decoding more than a tenth of its speed


class View(Protocol):
    """One tab: shows the store's newest figures; GUI thread, a few milliseconds."""

    def draw(self, store: TelemetryStore) -> None: ...


class InspectorDock(QDockWidget):
    """Draws `store` on a timer: only while visible, only the tab in front, only what changed."""

    warm_up_wanted = Signal()
    warm_up_stop_wanted = Signal()

    def __init__(self, store: TelemetryStore, parent: QWidget | None = None) -> None:
        super().__init__("Inspector", parent)
        self.setObjectName("inspector_dock")
        self._live = self._store = store
        self._playback: Playback | None = None
        self._views: list[View] = []
        self._drawn: tuple[int, int, int] | None = None
        self._cards_ns = 0
        self.verdict_bar, self.fidelity, self.replay_bar = VerdictBar(), FidelityMeter(), ReplayBar()
        self._pause = QPushButton("Pause")
        self._pause.setCheckable(True)
        self._pause.setToolTip("Keep the picture as it is; the engine goes on.")
        self._tabs = QTabWidget()
        self._tabs.setAccessibleName("Views of the inspector")
        make_narrow(self._tabs)
        self.probe = RateProbe(parent=self)
        self._timer = QTimer(self)
        self._timer.setInterval(REFRESH_MS)
        self._timer.timeout.connect(self.refresh)
        self._add_views()
        self._build_layout()

    def _add_views(self) -> None:
        self._experts, self._slots, self._times = ExpertView(), SlotsView(), TimeView()
        self._layers, self._ttft, self._numbers = LayersView(), TtftView(), NumbersView()
        self._add_view("Experts", self._experts, self._experts)
        self._add_view("Slots", self._slots, self._slots)
        self._add_view("Layers", self._layers, self._layers)
        self._add_view("Time", self._times, self._times)
        self._add_view("First token", self._ttft, self._ttft)
        self._add_view("Numbers", self._numbers, self._numbers)
        self.budget = BudgetPanel()
        self._add_view("Budget", self.budget, self.budget)
        self._tabs.currentChanged.connect(self.refresh)
        self._pause.toggled.connect(self._pause_toggled)
        self._slots.warm_up.wanted.connect(self.warm_up_wanted)
        self._slots.warm_up.stop_wanted.connect(self.warm_up_stop_wanted)
        self._numbers.measure_wanted.connect(self._measure)
        self.probe.done.connect(self._measured)
        self.probe.failed.connect(lambda error: self._numbers.show_measuring(False, str(error)))
        self.replay_bar.moved.connect(self._seek)
        self.replay_bar.closed.connect(self.close_recording)

    def _add_view(self, title: str, view: View, widget: QWidget) -> None:
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setWidget(widget)
        self._views.append(view)
        self._tabs.addTab(area, title)

    def _build_layout(self) -> None:
        body = QWidget()
        layout = QVBoxLayout(body)
        self.verdict_bar.add_button(self._pause)
        self.replay_bar.setVisible(False)
        layout.addWidget(self.replay_bar)
        layout.addWidget(self.verdict_bar)
        layout.addWidget(self.fidelity)
        layout.addWidget(self._tabs, 1)
        self.setWidget(body)

    @property
    def verdict_text(self) -> str:
        """The sentence on the screen."""
        return self.verdict_bar.sentence

    @property
    def is_seen(self) -> bool:
        """Whether any of it shows; behind another dock's tab Qt calls a dock visible, but shows nothing."""
        return not self.visibleRegion().isEmpty() and not self.window().isMinimized()

    @property
    def is_refreshing(self) -> bool:
        """Whether the timer runs."""
        return self._timer.isActive()

    def refresh(self) -> None:
        """Draw what changed since the last drawing; nothing while unseen or paused."""
        if not self.is_seen or self._pause.isChecked():
            return
        state = self._store.version, self._tabs.currentIndex(), self._cards_ns
        if state == self._drawn:
            return
        self._drawn = state
        self.verdict_bar.show_verdict(verdict(self._evidence()))
        model = self._store.model
        self.verdict_bar.show_context(context_words(model, self._store.context_used_tokens) if model else "")
        self.fidelity.draw(self._store.counters, model.routing if model else None)
        self._views[self._tabs.currentIndex()].draw(self._store)

    def _measure(self) -> None:
        if self._live.model is not None:
            self._numbers.show_measuring(True)
            self.probe.start(self._live.model)

    def _measured(self, rates: MeasuredRates) -> None:
        self._live.note_measured(rates.memory_bytes_per_second, rates.drive_bytes_per_second)
        self._numbers.show_measuring(False)
        self.refresh()

    def show_cards(self, sample: GpuSample | None) -> None:
        """What the graphics cards say now; drawn with the next refresh."""
        self.budget.show_cards(sample)
        is_in_front = self._views[self._tabs.currentIndex()] is self.budget
        self._cards_ns = sample.t_ns if sample and is_in_front else 0

    # --- recordings ---------------------------------------------------------------------------

    @property
    def store(self) -> TelemetryStore:
        """What is shown: the engine's figures, or those of a recording at the time of the slider."""
        return self._store

    @property
    def is_replaying(self) -> bool:
        return self._playback is not None

    def show_recording(self, playback: Playback) -> None:
        """Show a recording instead of the engine, until it is closed."""
        self._playback = playback
        self.replay_bar.show_recording(playback.name, playback.span_ns)
        self.replay_bar.setVisible(True)
        self._show_store(playback.store)

    def compare_with(self, playback: Playback) -> None:
        """Put the last figures of a recording beside those shown, in Numbers."""
        self._numbers.compare_with(playback.store, playback.name)
        self._tabs.setCurrentIndex(self._views.index(self._numbers))

    def close_recording(self) -> None:
        """Back to the engine."""
        self._playback = None
        self.replay_bar.setVisible(False)
        self._show_store(self._live)

    def _seek(self, t_ns: int) -> None:
        if self._playback is not None:
            self._playback.seek(t_ns)
            self._show_store(self._playback.store)

    def _show_store(self, store: TelemetryStore) -> None:
        self._store, self._drawn = store, None
        self._slots.is_live = self._numbers.is_live = self.budget.is_live = store is self._live
        self._pause.setChecked(False)
        self.refresh()

    def _evidence(self) -> Evidence:
        store = self._store
        return Evidence(
            state=store.state,
            load_progress=store.load_progress,
            warm_up_progress=store.warm_up_progress,
            window=store.rates.window(WINDOW_SECONDS),
            drive=store.drive_ceiling,
            link=store.link_ceiling,
            memory_bytes_per_second=store.measured_memory_bytes_per_second,
            model=store.model,
            resident_share=resident_share(store.experts.sample) if store.experts else None,
        )

    def set_paused(self, is_paused: bool) -> None:
        """Keep the picture as it is, or go on; the engine is not touched."""
        self._pause.setChecked(is_paused)

    def _pause_toggled(self, is_paused: bool) -> None:
        self._pause.setText("Resume" if is_paused else "Pause")
        self.refresh()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._timer.start()
        self.refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()
