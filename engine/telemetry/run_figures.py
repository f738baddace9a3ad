"""What a recorded run comes to: the last counters of each loaded model, and every answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from engine.events import (
    Counters,
    CountersSampled,
    Event,
    FinishReason,
    GenerationFinished,
    LoadStarted,
    ModelAdjusted,
    ModelLoaded,
    TtftPhases,
    Usage,
)
from engine.model_facts import ModelInfo


@dataclass(frozen=True, slots=True)
class AnswerFigures:
    """One answer; `model_name` is empty if the recording began later than the load."""

    model_name: str
    reason: FinishReason
    usage: Usage
    ttft: TtftPhases


@dataclass(slots=True)
class ModelFigures:
    """One loaded model: `counters` are its last ones."""

    info: ModelInfo | None
    load_ns: int = 0
    initialise_ns: int = 0
    counters: Counters = field(default_factory=Counters)


@dataclass(slots=True)
class RunFigures:
    """Sums of a whole recording; `span_ns` from the first event to the last."""

    events: int = 0
    span_ns: int = 0
    models: list[ModelFigures] = field(default_factory=list)
    answers: list[AnswerFigures] = field(default_factory=list)


def run_figures(events: Iterable[Event]) -> RunFigures:
    """Go through the events once."""
    run, model = RunFigures(), ModelFigures(None)
    start_ns: int | None = None
    for event in events:
        start_ns = event.t_ns if start_ns is None else start_ns
        run.events, run.span_ns = run.events + 1, event.t_ns - start_ns
        match event:
            case LoadStarted():
                model = ModelFigures(None)
            case ModelLoaded():
                model = ModelFigures(event.info, event.load_ns, event.initialise_ns)
                run.models.append(model)
            case ModelAdjusted():
                model.info = event.info
            case CountersSampled():
                model.counters = event.counters
            case GenerationFinished():
                name = model.info.name if model.info else ""
                run.answers.append(AnswerFigures(name, event.reason, event.usage, event.ttft))
    return run
