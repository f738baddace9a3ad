"""What a verdict rests on, and what it is."""

from __future__ import annotations

from dataclasses import dataclass

from app.ceiling import NOT_MEASURED, Ceiling
from app.window_totals import WindowTotals
from engine.events import EngineState, LoadProgress, WarmUpProgress
from engine.model_facts import ModelInfo

WINDOW_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """`sentence` for the screen; `rule` says how it was reached."""

    sentence: str
    rule: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a verdict may use; None is unknown.

    `drive`, `link`: the most they give (no link without devices), `memory_bytes_per_second`: what the
    processor was measured to get out of memory. `resident_share`: part of all experts that has a slot's
    bytes now, 0..1.
    """

    state: EngineState
    load_progress: LoadProgress | None = None
    window: WindowTotals | None = None
    drive: Ceiling = NOT_MEASURED
    link: Ceiling | None = None
    memory_bytes_per_second: float | None = None
    resident_share: float | None = None
    warm_up_progress: WarmUpProgress | None = None
    model: ModelInfo | None = None
