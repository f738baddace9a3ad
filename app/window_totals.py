"""What cumulative counters grew by over a stretch of time, and the quotients that follow from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import Counters
from engine.placement.tier import Tier

_PLAIN = (
    "prefill_tokens",
    "decode_tokens",
    "prefill_ns",
    "decode_ns",
    "disk_wait_ns",
    "disk_busy_ns",
    "bytes_read",
    "expert_requests",
    "expert_misses",
    "expert_streamed",
    "evictions",
    "passes",
    "transfer_wait_ns",
    "transfer_busy_ns",
)
_TIER_FIELDS = {tier: f"requests_{tier.name.lower()}" for tier in Tier}
FIELDS = (*_PLAIN, "link_bytes", *_TIER_FIELDS.values())


@dataclass(frozen=True, slots=True)
class WindowTotals:
    """What FIELDS grew by in `span_ns`; every figure is a plain sum of sampled differences.

    `link_bytes`: copies to all devices together. `requests_*`: expert requests by where the expert was when
    it was asked for; all 0 if the engine doesn't tell.
    """

    span_ns: int
    prefill_tokens: int
    decode_tokens: int
    prefill_ns: int
    decode_ns: int
    disk_wait_ns: int
    disk_busy_ns: int
    bytes_read: int
    expert_requests: int
    expert_misses: int
    expert_streamed: int
    evictions: int
    passes: int
    transfer_wait_ns: int = 0
    transfer_busy_ns: int = 0
    link_bytes: int = 0
    requests_disk: int = 0
    requests_host_window: int = 0
    requests_host_pool: int = 0
    requests_hot: int = 0
    requests_vram: int = 0

    @property
    def bytes_per_second(self) -> float:
        return self.bytes_read * 1e9 / self.span_ns

    @property
    def link_bytes_per_second(self) -> float:
        return self.link_bytes * 1e9 / self.span_ns

    @property
    def evictions_per_second(self) -> float:
        return self.evictions * 1e9 / self.span_ns

    @property
    def disk_wait_share(self) -> float:
        """0..1; a wait is counted when it ends, so a long one may exceed the interval: capped."""
        return min(1.0, self.disk_wait_ns / self.span_ns)

    @property
    def transfer_wait_share(self) -> float:
        """0..1, capped like the disk's; both together are never above 1."""
        return min(1.0 - self.disk_wait_share, self.transfer_wait_ns / self.span_ns)

    @property
    def compute_share(self) -> float:
        """0..1: the time that was neither wait."""
        return max(0.0, 1.0 - self.disk_wait_share - self.transfer_wait_share)

    @property
    def hit_share(self) -> float | None:
        return hit_share(self.expert_requests, self.expert_misses)

    @property
    def prefill_tokens_per_second(self) -> float | None:
        return speed_per_second(self.prefill_tokens, self.prefill_ns, self.span_ns)

    @property
    def decode_tokens_per_second(self) -> float | None:
        return speed_per_second(self.decode_tokens, self.decode_ns, self.span_ns)

    @property
    def bytes_per_token(self) -> float | None:
        """Bytes read from disk per token of prefill or decode; None without tokens."""
        tokens = self.prefill_tokens + self.decode_tokens
        return self.bytes_read / tokens if tokens else None

    def tier_share(self, tier: Tier) -> float | None:
        """Share of the expert requests whose expert was in this tier, 0..1; None if nobody counted them."""
        counts = {each: int(getattr(self, name)) for each, name in _TIER_FIELDS.items()}
        total = sum(counts.values())
        return counts[tier] / total if total else None


def counter_values(counters: Counters) -> NDArray[np.int64]:
    """The counters as FIELDS, shape (fields,)."""
    by_tier = counters.requests_by_tier
    return np.array(
        [
            *(getattr(counters, name) for name in _PLAIN),
            sum(counters.bytes_by_link.values()),
            *(by_tier.get(tier.name.lower(), 0) for tier in Tier),
        ],
        np.int64,
    )


def hit_share(requests: int, misses: int) -> float | None:
    """Share of expert requests served without waiting for a read; None without requests."""
    return (requests - misses) / requests if requests > 0 else None


def speed_per_second(tokens: int, phase_ns: int, span_ns: int) -> float | None:
    """Tokens per second of the time spent in the phase (of the whole span if that isn't counted).

    None without tokens: a speed of 0 would claim that the phase ran and produced nothing.
    """
    elapsed_ns = phase_ns or span_ns
    return tokens * 1e9 / elapsed_ns if tokens > 0 and elapsed_ns > 0 else None
