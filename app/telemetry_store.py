"""What the engine reported so far, ready to be drawn: the only place where rates are computed."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.ceiling import Ceiling
from app.counter_rates import CounterRates
from app.expert_history import ExpertHistory
from app.layer_costs import LayerCosts
from engine.events import (
    Counters,
    CountersSampled,
    EngineState,
    Event,
    ExpertsSampled,
    FinishReason,
    GenerationFinished,
    GenerationStarted,
    LayersSampled,
    LoadProgress,
    LoadStarted,
    ModelAdjusted,
    ModelLoaded,
    ModelUnloaded,
    PrefillProgress,
    RequestFailed,
    StateChanged,
    TextDelta,
    TtftPhases,
    Usage,
    WarmUpFinished,
    WarmUpProgress,
)
from engine.model_facts import ModelInfo

RING_ROWS = 12_000  # 10 minutes at the engine's closest sampling, every 50 ms
ANSWERS_KEPT = 50


@dataclass(frozen=True, slots=True)
class AnswerTiming:
    """Figures of one finished answer; `number` counts answers from 1.

    Prefill began at `prompt_ready_ns` of the engine's clock, 0 if the answer never began.
    `ttft.first_paint_ns` is 0 as long as no window has said that it showed the first text.
    """

    number: int
    model_name: str
    reason: FinishReason
    usage: Usage
    ttft: TtftPhases
    prompt_ready_ns: int = 0
    finished_ns: int = 0
    request_id: int = 0


class TelemetryStore:
    """Takes events in order and keeps bounded figures. One thread (the window's); no Qt.

    `version` grows whenever something worth drawing changed; `experts_version` and `answers_version`
    tell which part it was.
    """

    def __init__(self) -> None:
        self.version = 0
        self.experts_version = 0
        self.answers_version = 0
        self.state = EngineState.EMPTY
        self.model: ModelInfo | None = None
        self.counters: Counters | None = None
        self.load_progress: LoadProgress | None = None
        self.prefill_progress: PrefillProgress | None = None
        self.warm_up_progress: WarmUpProgress | None = None
        self.warm_up: WarmUpFinished | None = None  # the last one of this model
        self.warm_up_answers = 0  # answers there were before it
        self.experts: ExpertHistory | None = None
        self.layers: LayerCosts | None = None
        self.rates = CounterRates(RING_ROWS)
        self.answers: deque[AnswerTiming] = deque(maxlen=ANSWERS_KEPT)
        self.newest_ns = 0
        self.measured_drive_bytes_per_second: float | None = None
        self.measured_memory_bytes_per_second: float | None = None
        self.context_used_tokens = 0  # prompt and answer so far, of the newest request
        self._prompt_tokens = self._prompt_ready_ns = 0
        self._answer_count = 0
        self._first_paint = 0, 0  # request id, nanoseconds

    @property
    def drive_ceiling(self) -> Ceiling:
        """The most the model's drive gives."""
        measured = self.model.drive_bytes_per_second if self.model else None
        return Ceiling.of(measured or self.measured_drive_bytes_per_second, self.rates.peak_bytes_per_second)

    @property
    def link_ceiling(self) -> Ceiling | None:
        """The most the links to all devices of the model give together; None without devices."""
        rates = [each.link_bytes_per_second for each in self.model.devices] if self.model else []
        if not rates:
            return None
        measured = sum(rate for rate in rates if rate) if all(rates) else None
        return Ceiling.of(measured, self.rates.peak_link_bytes_per_second)

    def apply(self, events: Sequence[Event]) -> None:
        """Take events in the order of their `seq`; events without figures change nothing."""
        for event in events:
            if self._take(event):
                self.version += 1
                self.newest_ns = max(self.newest_ns, event.t_ns)

    def note_measured(self, memory_bytes_per_second: float, drive_bytes_per_second: float) -> None:
        """Somebody measured the machine."""
        self.measured_memory_bytes_per_second = memory_bytes_per_second
        self.measured_drive_bytes_per_second = drive_bytes_per_second
        self.version += 1

    def note_first_paint(self, request_id: int, first_paint_ns: int) -> None:
        """A window has shown the first text of an answer; it may have ended already."""
        self._first_paint = request_id, first_paint_ns
        if self.answers and self.answers[-1].request_id == request_id:
            answer = self.answers.pop()
            self.answers.append(replace(answer, ttft=self.with_first_paint(request_id, answer.ttft)))
            self.answers_version += 1
            self.version += 1

    def with_first_paint(self, request_id: int, ttft: TtftPhases) -> TtftPhases:
        """The phases with what the window knows of this request, if that is the newest it showed."""
        seen_id, first_paint_ns = self._first_paint
        is_known = request_id == seen_id and first_paint_ns > 0
        return replace(ttft, first_paint_ns=first_paint_ns) if is_known else ttft

    def _take(self, event: Event) -> bool:
        match event:
            case CountersSampled():
                self.counters = event.counters
                self.rates.add(event.t_ns, event.counters)
            case ExpertsSampled():
                self._take_experts(event)
            case LayersSampled():
                self._take_layers(event)
            case LoadProgress():
                self.load_progress = event
            case PrefillProgress():
                self.prefill_progress = event
            case WarmUpProgress():
                self.warm_up_progress = event
            case _:
                return self._take_lifecycle(event)
        return True

    def _take_lifecycle(self, event: Event) -> bool:
        match event:
            case StateChanged():
                self._take_state(event)
            case LoadStarted() | ModelUnloaded():
                self._forget_model()
            case ModelLoaded():
                self._take_model(event.info)
            case ModelAdjusted():
                self.model = event.info
            case GenerationStarted():
                self.prefill_progress = None
                self._prompt_tokens = self.context_used_tokens = event.prompt_tokens
                self._prompt_ready_ns = event.t_ns
            case TextDelta():
                self.context_used_tokens = self._prompt_tokens + event.completion_tokens
                return False  # drawn with the next counters
            case GenerationFinished():
                self._take_answer(event)
            case WarmUpFinished():
                self.warm_up, self.warm_up_answers = event, self._answer_count
            case RequestFailed():
                self.load_progress = self.prefill_progress = None
            case _:
                return False
        return True

    def _take_state(self, event: StateChanged) -> None:
        self.warm_up_progress = None
        if event.state in (EngineState.GENERATING, EngineState.WARMING_UP):
            self.rates.mark_idle_until(event.t_ns)
        if event.state is EngineState.EMPTY:
            self._forget_model()
        if event.state is not EngineState.LOADING:
            self.load_progress = None
        self.state = event.state

    def _take_model(self, info: ModelInfo) -> None:
        if self.model is not None:
            self._forget_model()
        self.model = info

    def _forget_model(self) -> None:
        """Counters, experts and progress belong to one loaded model; rates and answers outlive it."""
        self.model = self.counters = self.experts = self.layers = None
        self.load_progress = self.prefill_progress = None
        self.warm_up_progress = self.warm_up = None
        self.context_used_tokens = 0
        self.rates.restart()
        self.experts_version += 1

    def _take_experts(self, sample: ExpertsSampled) -> None:
        if self.experts is not None and self.experts.follows(sample):
            self.experts.add(sample)
        else:
            self.experts = ExpertHistory(sample)
        self.experts_version += 1

    def _take_layers(self, sample: LayersSampled) -> None:
        if self.layers is not None and self.layers.follows(sample):
            self.layers.add(sample)
        else:
            self.layers = LayerCosts(sample)

    def _take_answer(self, event: GenerationFinished) -> None:
        self._answer_count += 1
        name = self.model.name if self.model else ""
        times = self._prompt_ready_ns, event.t_ns
        ttft = self.with_first_paint(event.request_id, event.ttft)
        self.answers.append(
            AnswerTiming(self._answer_count, name, event.reason, event.usage, ttft, *times, event.request_id)
        )
        self._prompt_ready_ns = 0
        self.answers_version += 1
        self.prefill_progress = None
        if event.usage.prompt_tokens:  # 0: stopped before it began, the context is as it was
            self.context_used_tokens = event.usage.prompt_tokens + event.usage.completion_tokens
