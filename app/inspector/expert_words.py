"""Sentences about the expert map."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.expert_history import HALF_LIFE_SECONDS, ExpertHistory, HeatWindow, Phase, newest_pass
from app.inspector.display_words import TIER_WORDS
from app.inspector.figures import count_text
from app.telemetry_store import TelemetryStore
from engine.config import format_size
from engine.events import ExpertsSampled
from engine.model_facts import ModelInfo
from engine.placement.tier import Tier

PHASE_CHOICES = {
    "Prefill and decode": Phase.BOTH,
    "Prefill": Phase.PREFILL,
    "Decode": Phase.DECODE,
}
WINDOW_CHOICES = {
    "Last token": HeatWindow.LAST_TOKEN,
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


def window_words(history: ExpertHistory, window: HeatWindow, top_k: int) -> str:
    """What the colours count, with the tokens or passes they cover."""
    if window is HeatWindow.LAST_TOKEN:
        return _token_words(history.last_tokens(top_k))
    if window is HeatWindow.SESSION:
        return "Uses since the model was loaded"
    if window is HeatWindow.DECAYING:
        return f"Uses, halved every {HALF_LIFE_SECONDS:.0f} s"
    first, last = history.base_pass_number + 1, history.pass_number
    if last == 0:
        return "Uses; no pass has run yet"
    return f"Uses in pass {last}" if first >= last else f"Uses in passes {first} to {last}"


def _token_words(tokens: int) -> str:
    if tokens == 0:
        return "Uses; no token has been decoded yet"
    if tokens == 1:
        return "Uses in the last decoded token"
    return f"Uses in the last {count_text(tokens)} decoded tokens, sampled together"


def skew_words(half_counts: NDArray[np.int64], n_expert: int) -> str:
    """How few experts take half of the picks, over the layers that have picks."""
    used = half_counts[half_counts > 0]
    if not len(used):
        return "Skew: no picks in this window."
    least, most, median = int(used.min()), int(used.max()), float(np.median(used))
    spread = f"{least}" if least == most else f"{least} to {most}, median {median:g},"
    return f"Skew: half of a layer’s picks go to {spread} of its {n_expert} experts."


def layer_skew_words(half_count: int, n_expert: int) -> str:
    """The same for one layer."""
    if not half_count:
        return "The layer has no picks in this window."
    return f"Half of the layer’s picks go to {half_count} of {n_expert} experts."


def cell_words(model: ModelInfo, sample: ExpertsSampled, row: int, expert: int) -> str:
    """All that is known about one expert; the counts are the engine's own."""
    tier = TIER_WORDS[Tier(int(sample.tiers[row, expert]))]
    prefill, decode = int(sample.prefill_uses[row, expert]), int(sample.decode_uses[row, expert])
    last = int(sample.last_use_pass[row, expert])
    used = (
        f"last used in pass {count_text(last)} of {count_text(newest_pass(sample))}" if last else "never used"
    )
    return (
        f"Layer {sample.moe_layers[row]}, expert {expert}: {tier}, "
        f"{_size_words(model, sample.moe_layers[row])}. "
        f"{count_text(prefill)} uses in prefill, {count_text(decode)} in decode; {used}."
    )


def _size_words(model: ModelInfo, layer: int) -> str:
    """The expert's bytes; where layers differ only the size of its slot is known."""
    if len(model.slot_classes) < 2:
        return format_size(model.expert_bytes)
    sizes = {place: each.slot_bytes for each in model.slot_classes for place in each.layers}
    return f"slot of {format_size(sizes[layer])}" if layer in sizes else format_size(model.expert_bytes)
