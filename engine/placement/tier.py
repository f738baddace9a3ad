"""Where an expert's bytes are."""

from __future__ import annotations

from enum import IntEnum


class Tier(IntEnum):
    """Values of `ExpertsSampled.tiers`, the quicker the higher. HOT: the hot zone in RAM."""

    DISK = 0
    HOST_WINDOW = 1
    HOST_POOL = 2
    HOT = 3
    VRAM = 4
