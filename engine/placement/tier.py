"""Where an expert's bytes are."""

from __future__ import annotations

from enum import IntEnum


class Tier(IntEnum):
    """Values of `ExpertsSampled.tiers`."""

    DISK = 0
    HOST_WINDOW = 1
    HOST_POOL = 2
    VRAM = 3
