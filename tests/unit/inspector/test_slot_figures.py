"""Slots and bytes per tier, counted by hand."""

from __future__ import annotations

import dataclasses

from app.inspector.slot_figures import layer_figures, resident_share, tier_figures, tiers_of
from app.inspector.slot_words import lent_words
from engine.model_facts import SlotClassInfo
from engine.placement.tier import Tier
from tests.support.telemetry_events import experts_event, model_info

# layers 3 and 4 share a class of 10-byte slots, layer 5 has slots of 100 bytes; experts are 7 bytes
MODEL = dataclasses.replace(
    model_info(),
    n_expert=4,
    expert_bytes=7,
    slot_classes=(
        SlotClassInfo((3, 4), n_expert=4, slots=5, slot_bytes=10, pool_per_layer=2, window_slots=1),
        SlotClassInfo(
            (5,), n_expert=4, slots=4, slot_bytes=100, pool_per_layer=2, window_slots=3, hot_per_layer=1
        ),
    ),
)
SAMPLE = experts_event(0, [[0] * 4] * 3, tiers=[[2, 2, 0, 1], [0, 0, 0, 2], [3, 1, 1, 2]])


def test_layers() -> None:
    figures = layer_figures(MODEL, SAMPLE)
    assert figures.layers == (3, 4, 5)
    assert figures.experts[Tier.HOST_POOL].tolist() == [2, 1, 1]
    assert figures.experts[Tier.HOST_WINDOW].tolist() == [1, 0, 2]
    assert figures.experts[Tier.HOT].tolist() == [0, 0, 1]
    assert figures.experts[Tier.VRAM].tolist() == [0, 0, 0]
    assert figures.pool_slots.tolist() == [2, 2, 2]
    assert figures.hot_slots.tolist() == [0, 0, 1]


def test_tiers_quickest_first() -> None:
    rows = tier_figures(MODEL, SAMPLE)
    assert [row.tier for row in rows] == [Tier.HOT, Tier.HOST_POOL, Tier.HOST_WINDOW, Tier.DISK]
    assert [row.experts for row in rows] == [1, 4, 3, 4]
    # pool 3 x 10 + 1 x 100, window 1 x 10 + 2 x 100, disk 4 x 7
    assert [row.used_bytes for row in rows] == [100, 130, 210, 28]
    # 2 x 2 and 2 of the pool, one of which is hot
    assert [row.slots for row in rows] == [1, 5, 4, None]
    assert [row.slots_bytes for row in rows] == [100, 4 * 10 + 100, 10 + 300, None]


def test_a_window_in_lent_slots_is_explained() -> None:
    tiers = [[1, 1, 1, 0], [1, 1, 0, 2], [3, 1, 1, 2]]  # 7 experts, 4 slots of the window's own
    rows = tier_figures(MODEL, experts_event(0, [[0] * 4] * 3, tiers=tiers))
    assert lent_words(rows) == " Slots that other layers’ pools lent to the window: 3."
    assert lent_words(tier_figures(MODEL, SAMPLE)) == ""


def test_a_hot_zone_on_a_device() -> None:
    shared = MODEL.slot_classes[0]
    on_device = dataclasses.replace(MODEL.slot_classes[1], device_slots=6)
    model = dataclasses.replace(MODEL, slot_classes=(shared, on_device))
    sample = experts_event(0, [[0] * 4] * 3, tiers=[[2, 2, 0, 1], [0, 0, 0, 2], [4, 1, 1, 2]])
    rows = tier_figures(model, sample)
    assert [row.tier for row in rows] == [Tier.VRAM, Tier.HOST_POOL, Tier.HOST_WINDOW, Tier.DISK]
    # the device's slots hold hot experts and what is staged for it
    assert (rows[0].experts, rows[0].used_bytes, rows[0].slots, rows[0].slots_bytes) == (1, 100, 6, 600)
    assert tiers_of(model_info()) == (Tier.HOST_POOL, Tier.HOST_WINDOW, Tier.DISK)


def test_resident_share() -> None:
    assert resident_share(SAMPLE) == 8 / 12
    assert resident_share(experts_event(0, [[]])) is None
