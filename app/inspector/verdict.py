"""One sentence about what the engine is waiting for, from measured figures alone."""

from __future__ import annotations

from app.inspector.answering_verdict import answering_verdict
from app.inspector.evidence import Evidence, Verdict
from app.inspector.figures import UNKNOWN, count_text, rate_text
from engine.config import format_size
from engine.events import EngineState, LoadPhase, LoadProgress

_LOAD_WORDS = {
    LoadPhase.INSPECT: "reading the file's header",
    LoadPhase.MAP: "mapping the file",
    LoadPhase.DENSE_READ: "reading the dense weights",
    LoadPhase.CONTEXT: "making room for the context",
    LoadPhase.SLOTS: "making expert slots",
    LoadPhase.FIRST_GRAPH: "running the first graph",
}


def verdict(evidence: Evidence) -> Verdict:
    """The sentence that fits the engine's state; pure."""
    if evidence.state is EngineState.LOADING:
        return _loading(evidence.load_progress)
    if evidence.state is EngineState.READY:
        return Verdict(
            "Idle: the model is loaded and waits for a prompt.", "The engine says that nothing is running."
        )
    if evidence.state is EngineState.WARMING_UP:
        return _warming_up(evidence)
    if evidence.state is not EngineState.GENERATING:
        return Verdict("No model is loaded.", "The engine says that no model is loaded.")
    if evidence.window is None:
        return Verdict(
            f"Answering; what it waits for: {UNKNOWN} until two samples of the counters are there.",
            "A share of time needs the difference of two samples.",
        )
    return answering_verdict(evidence, evidence.window)


def _loading(progress: LoadProgress | None) -> Verdict:
    rule = "Phase, bytes and speed as the engine reports them while it loads."
    if progress is None:
        return Verdict(f"Loading; progress: {UNKNOWN}.", rule)
    words = _LOAD_WORDS[progress.phase]
    if progress.phase is not LoadPhase.DENSE_READ or not progress.total_bytes:
        return Verdict(f"Loading: {words}.", rule)
    done, total = format_size(progress.done_bytes), format_size(progress.total_bytes)
    return Verdict(f"Loading: {words}, {done} of {total} at {rate_text(progress.bytes_per_second)}.", rule)


def _warming_up(evidence: Evidence) -> Verdict:
    rule = "Experts and bytes as the engine reports them while it warms up."
    progress = evidence.warm_up_progress
    if progress is None:
        return Verdict(f"Warming up; progress: {UNKNOWN}.", rule)
    rate = f" at {rate_text(evidence.window.bytes_per_second)}" if evidence.window else ""
    done, total = count_text(progress.done_experts), count_text(progress.total_experts)
    return Verdict(
        f"Warming up: {done} of {total} missing experts "
        f"are in memory, {format_size(progress.bytes_read)} read{rate}.",
        rule,
    )
