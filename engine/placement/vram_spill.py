"""Whether a device's memory holds what was put there, judged by figures after a load.

A driver that runs out of its card's memory may go on in this machine's (Windows calls it shared GPU memory)
and say nothing; everything there then comes over the link. Its signature: more was asked for than was free
and nothing failed, or the card is full and shows less in use than was asked for; and the slots are written no
quicker than the link carries.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from engine.config import MIB

_FULL_SHARE = 0.03  # less than this of the memory free: the card is full
_LINK_LIKE = 2.0  # a card's own memory is ten times as quick as its link, and more
_SLACK_BYTES = 64 * MIB  # what drivers round up, and other programs take meanwhile


@dataclass(frozen=True, slots=True)
class VramFigures:
    """One device: memory free before and after the load, and what was asked for in between.

    `budget_bytes`: what the load was allowed. `card_used_bytes`: in use by all programs, by the card's driver
    (NVML). `fill_bytes_per_second`: at which the slots were cleared. None: nobody knows.
    """

    total_bytes: int
    free_before_bytes: int
    free_after_bytes: int
    asked_bytes: int
    budget_bytes: int
    headroom_bytes: int
    card_used_bytes: int | None = None
    fill_bytes_per_second: float | None = None
    link_bytes_per_second: float | None = None

    @property
    def taken_bytes(self) -> int:
        """What is free less than before, whoever took it."""
        return self.free_before_bytes - self.free_after_bytes


class VramState(Enum):
    """From bad to good; the first that applies."""

    SPILLED = "spilled"  # part of it is in this machine's memory, and is as slow as the link
    SUSPECTED = "suspected"  # the sums say so, the speed doesn't or is unknown
    OVERDRAWN = "overdrawn"  # more is taken than the load was allowed
    TIGHT = "tight"  # so little is free that the next program may push something out
    GOOD = "good"


def judge_vram(figures: VramFigures) -> VramState:
    """The state that the figures show."""
    is_beyond = figures.asked_bytes > figures.free_before_bytes
    is_full = figures.free_after_bytes < _FULL_SHARE * figures.total_bytes
    is_missing = is_full and figures.taken_bytes + _SLACK_BYTES < figures.asked_bytes
    used = figures.card_used_bytes
    is_missing |= used is not None and used + _SLACK_BYTES < figures.asked_bytes
    if _is_link_like(figures) and (is_beyond or is_missing or is_full):
        return VramState.SPILLED
    if is_beyond or is_missing:
        return VramState.SUSPECTED
    if figures.taken_bytes > figures.budget_bytes:
        return VramState.OVERDRAWN
    if figures.free_after_bytes < figures.headroom_bytes:
        return VramState.TIGHT
    return VramState.GOOD


def _is_link_like(figures: VramFigures) -> bool:
    fill, link = figures.fill_bytes_per_second, figures.link_bytes_per_second
    return fill is not None and link is not None and fill < _LINK_LIKE * link
