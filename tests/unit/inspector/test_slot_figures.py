"""Slots and bytes per tier, counted by hand."""

from __future__ import annotations

import dataclasses

from app.inspector.slot_figures import layer_figures, resident_share, tier_figures
from engine.events import SlotClassInfo
from engine.placement.tier import Tier
from tests.support.telemetry_events import experts_event, model_info

# layers 3 and 4 share a class of 10-byte slots, layer 5 has slots of 100 bytes; experts are 7 bytes
MODEL = dataclasses.replace(
    model_info(),
    n_expert=4,
    expert_bytes=7,
    slot_classes=(
        SlotClassInfo((3, 4), n_expert=4, slots=5, slot_bytes=10, pool_per_layer=2, window_slots=1),
        SlotClassInfo((5,), n_expert=4, slots=4, slot_bytes=100, pool_per_layer=1, window_slots=3),
    ),
)
SAMPLE = experts_event(0, [[0] * 4] * 3, tiers=[[2, 2, 0, 1], [0, 0, 0, 2], [4, 1, 1, 2]])


def test_layers() -> None:
    figures = layer_figures(MODEL, SAMPLE)
    assert figures.layers == (3, 4, 5)
    assert figures.pool.tolist() == [2, 1, 1]
    assert figures.window.tolist() == [1, 0, 2]
    assert figures.vram.tolist() == [0, 0, 1]
    assert figures.pool_slots.tolist() == [2, 2, 1]


def test_tiers_fastest_first() -> None:
    rows = tier_figures(MODEL, SAMPLE)
    assert [row.tier for row in rows] == [Tier.VRAM, Tier.HOST_POOL, Tier.HOST_WINDOW, Tier.DISK]
    assert [row.experts for row in rows] == [1, 4, 3, 4]
    # pool 3 x 10 + 1 x 100, window 1 x 10 + 2 x 100, disk 4 x 7
    assert [row.used_bytes for row in rows] == [100, 130, 210, 28]
    assert [row.slots for row in rows] == [None, 5, 4, None]
    assert [row.slots_bytes for row in rows] == [None, 4 * 10 + 100, 10 + 300, None]


def test_resident_share() -> None:
    assert resident_share(SAMPLE) == 8 / 12
    assert resident_share(experts_event(0, [[]])) is None
