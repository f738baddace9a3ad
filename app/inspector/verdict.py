"""One sentence about what the engine is waiting for, from measured figures alone."""

from __future__ import annotations

from dataclasses import dataclass

from app.inspector.figures import UNKNOWN, count_text, percent_text, rate_text, seconds_text
from app.window_totals import WindowTotals
from engine.config import format_size
from engine.events import EngineState, LoadPhase, LoadProgress, WarmUpProgress

WINDOW_SECONDS = 5.0
WAITING_SHARE = 0.3
SOME_WAITING_SHARE = 0.1
DRIVE_AT_LIMIT_SHARE = 0.8

_LOAD_WORDS = {
    LoadPhase.INSPECT: "reading the file's header",
    LoadPhase.MAP: "mapping the file",
    LoadPhase.DENSE_READ: "reading the dense weights",
    LoadPhase.CONTEXT: "making room for the context",
    LoadPhase.SLOTS: "making expert slots",
    LoadPhase.FIRST_GRAPH: "running the first graph",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """`sentence` for the screen; `rule` says how it was reached."""

    sentence: str
    rule: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a verdict may use; None is unknown.

    `drive_bytes_per_second`: the drive's measured maximum. `resident_share`: part of all
    experts that has a slot's bytes now, 0..1.
    """

    state: EngineState
    load_progress: LoadProgress | None = None
    window: WindowTotals | None = None
    drive_bytes_per_second: float = 0.0
    resident_share: float | None = None
    warm_up_progress: WarmUpProgress | None = None


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
    return _generating(evidence, evidence.window)


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


def _generating(evidence: Evidence, window: WindowTotals) -> Verdict:
    share = window.disk_wait_share
    measured = (
        f"{percent_text(share)} of the last {seconds_text(window.span_ns)} ({_rate_words(evidence, window)})"
    )
    rule = (
        f"Time the engine stood still for reads, divided by the time that passed: "
        f"{window.disk_wait_ns / 1e6:,.0f} ms of {window.span_ns / 1e6:,.0f} ms. "
        f"From {percent_text(WAITING_SHARE)} on it counts as waiting, "
        f"below {percent_text(SOME_WAITING_SHARE)} as computing. The disk is near its fastest from "
        f"{percent_text(DRIVE_AT_LIMIT_SHARE)} of its measured maximum: the rate the engine measured, or the "
        f"highest seen since the program started."
    )
    if share >= WAITING_SHARE:
        return Verdict(f"Waiting for disk {measured}; {_waiting_advice(evidence, window)}", rule)
    if share >= SOME_WAITING_SHARE:
        return Verdict(f"Computing, but waited for disk {measured}.", rule)
    return Verdict(f"Computing: waited for disk {measured}; more slots would change little.", rule)


def _rate_words(evidence: Evidence, window: WindowTotals) -> str:
    if not evidence.drive_bytes_per_second:
        return f"{rate_text(window.bytes_per_second)} read"
    maximum = rate_text(evidence.drive_bytes_per_second)
    return f"{rate_text(window.bytes_per_second)} read of the drive’s {maximum}"


def _waiting_advice(evidence: Evidence, window: WindowTotals) -> str:
    if evidence.resident_share == 1:
        return "every expert is in memory now, so this should end."
    if not window.expert_misses and not window.expert_streamed:
        return "no expert was read, so more slots would not help."
    maximum = evidence.drive_bytes_per_second
    if maximum and window.bytes_per_second >= DRIVE_AT_LIMIT_SHARE * maximum:
        return "the drive gives all it can; more slots would help."
    return "more slots would help."
