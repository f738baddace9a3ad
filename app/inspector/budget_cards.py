"""What NVIDIA’s driver says about the graphics cards: rows of words. No Qt."""

from __future__ import annotations

from app.inspector.figures import UNKNOWN, part_text, percent_text, rate_text, seconds_text
from engine.hardware.nvml import GpuFacts
from engine.telemetry.gpu_sampler import GpuSample

_STALE_NS = 3_000_000_000  # three samples


def card_rows(sample: GpuSample | None, now_ns: int) -> list[tuple[str, str]]:
    """(name, figure) pairs; none without a card. Old figures are not shown as if they were new."""
    if sample is None:
        return []
    age_ns = now_ns - sample.t_ns
    rows = [row for card in sample.cards for row in _rows(card, is_stale=age_ns > _STALE_NS)]
    if age_ns > _STALE_NS:
        rows.append(("last answer of the driver", f"{seconds_text(age_ns)} ago"))
    return rows


def _rows(card: GpuFacts, is_stale: bool) -> list[tuple[str, str]]:
    if card.is_lost:
        return [(card.name, "lost: the driver can’t reach it any more; restart the machine")]
    facts = GpuFacts(card.index, card.name) if is_stale else card
    return [
        (card.name, ""),
        ("  memory used", _memory(facts)),
        ("  busy", percent_text(facts.utilisation_share)),
        ("  power", UNKNOWN if facts.power_watts is None else f"{facts.power_watts:.0f} W"),
        ("  PCIe, to the card", rate_text(facts.received_bytes_per_second)),
        ("  PCIe, from the card", rate_text(facts.transmitted_bytes_per_second)),
    ]


def _memory(card: GpuFacts) -> str:
    if card.memory_used_bytes is None or card.memory_total_bytes is None:
        return UNKNOWN
    return part_text(card.memory_used_bytes, card.memory_total_bytes)
