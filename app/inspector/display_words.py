"""Words for tiers and phases, the same in every view."""

from __future__ import annotations

from engine.events import TtftPhases
from engine.placement.tier import Tier

TIER_WORDS = {
    Tier.DISK: "on disk only",
    Tier.HOST_WINDOW: "RAM window",
    Tier.HOST_POOL: "RAM pool",
    Tier.HOT: "hot zone in RAM",
    Tier.VRAM: "VRAM",
}
# fields of TtftPhases in the order they happen
PHASE_WORDS = {
    "queue_ns": "queue",
    "load_ns": "load",
    "initialise_ns": "initialise",
    "warm_up_ns": "warm-up",
    "template_ns": "template",
    "prefill_ns": "prefill",
    "first_decode_ns": "first decode",
}


def phase_values_ns(ttft: TtftPhases) -> list[int]:
    """Nanoseconds per phase in the order of PHASE_WORDS."""
    return [int(getattr(ttft, name)) for name in PHASE_WORDS]
