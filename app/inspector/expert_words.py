"""Sentences about the expert map."""

from __future__ import annotations

from app.expert_history import HALF_LIFE_SECONDS, ExpertHistory, HeatWindow, Phase, newest_pass
from app.inspector.display_words import TIER_WORDS
from app.inspector.figures import count_text
from app.telemetry_store import TelemetryStore
from engine.config import format_size
from engine.events import ExpertsSampled, ModelInfo
from engine.placement.tier import Tier

PHASE_CHOICES = {
    "Prefill and decode": Phase.BOTH,
    "Prefill": Phase.PREFILL,
    "Decode": Phase.DECODE,
}
WINDOW_CHOICES = {
    "Last pass": HeatWindow.LAST_PASS,
    "Recent, fading": HeatWindow.DECAYING,
    "Since the model was loaded": HeatWindow.SESSION,
}
ORDER_CHOICES = {"By expert id": False, "By uses, per layer": True}


def missing_figures(store: TelemetryStore) -> str:
    """Why there is nothing to map; empty if there is."""
    if store.model is None:
        return "No model is loaded. Load a model with experts to see where each of them lives."
    if not store.model.moe_layers:
        return (
            f"“{store.model.name}” is a dense model: it has no routed experts, so there is nothing to map. "
            "All of its weights are used for every token."
        )
    if store.experts is None:
        return "No figures about experts yet. They come with the first answer."
    return ""


def window_words(history: ExpertHistory, window: HeatWindow) -> str:
    """What the colours count, with the passes they cover."""
    if window is HeatWindow.SESSION:
        return "Uses since the model was loaded"
    if window is HeatWindow.DECAYING:
        return f"Uses, halved every {HALF_LIFE_SECONDS:.0f} s"
    first, last = history.base_pass_number + 1, history.pass_number
    if last == 0:
        return "Uses; no pass has run yet"
    return f"Uses in pass {last}" if first >= last else f"Uses in passes {first} to {last}"


def cell_words(model: ModelInfo, sample: ExpertsSampled, row: int, expert: int) -> str:
    """All that is known about one expert; the counts are the engine's own."""
    tier = TIER_WORDS[Tier(int(sample.tiers[row, expert]))]
    prefill, decode = int(sample.prefill_uses[row, expert]), int(sample.decode_uses[row, expert])
    last = int(sample.last_use_pass[row, expert])
    used = (
        f"last used in pass {count_text(last)} of {count_text(newest_pass(sample))}" if last else "never used"
    )
    return (
        f"Layer {sample.moe_layers[row]}, expert {expert}: {tier}, {format_size(model.expert_bytes)}. "
        f"{count_text(prefill)} uses in prefill, {count_text(decode)} in decode; {used}."
    )
