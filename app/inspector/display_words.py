"""Words for tiers, moves and phases, the same in every view."""

from __future__ import annotations

from app.expert_moves import Move
from engine.events import TtftPhases
from engine.placement.tier import Tier

TIER_WORDS = {
    Tier.DISK: "on disk only",
    Tier.HOST_WINDOW: "RAM window",
    Tier.HOST_POOL: "RAM pool",
    Tier.HOT: "hot zone in RAM",
    Tier.VRAM: "VRAM",
}
MOVE_WORDS = {
    Move.LOADED: "loaded from disk",
    Move.PROMOTED: "into the hot zone",
    Move.DEMOTED: "out of the hot zone",
    Move.EVICTED: "evicted",
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
    "first_paint_ns": "first paint",
}


def phase_values_ns(ttft: TtftPhases) -> list[int]:
    """Nanoseconds per phase in the order of PHASE_WORDS."""
    return [int(getattr(ttft, name)) for name in PHASE_WORDS]


def prefill_waits_ns(ttft: TtftPhases) -> tuple[int, int]:
    """Waits for disk and for links to devices; together never longer than the prefill."""
    disk_ns = min(ttft.prefill_disk_wait_ns, ttft.prefill_ns)
    return disk_ns, min(ttft.prefill_transfer_wait_ns, ttft.prefill_ns - disk_ns)
