"""What a loaded model can take over without a load, worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.config import GIB, LoadSettings, Repack, Routing
from engine.model_facts import ModelInfo, SlotClassInfo
from engine.placement.live_settings import live_plan, needing_reload
from tests.support.telemetry_events import model_info

ASKED = LoadSettings(Path("/models/tiny.gguf"))
# 3 layers of 8 experts, top-2, 10 slots; its context takes 16 tokens at once, as automatic
MODEL = replace(model_info(), largest_unit_tokens=16, is_unit_open=True)


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({}, ()),
        ({"routing": Routing.RESIDENT, "is_pool_fixed": True}, ()),
        ({"pool_per_layer": 1, "hot_per_layer": 0}, ()),
        ({"unit_tokens": 16}, ()),
        ({"unit_tokens": 17}, ("unit_tokens",)),
        ({"ram_budget_bytes": GIB, "unit_tokens": 3}, ("ram_budget_bytes",)),
        ({"repack": Repack.ON}, ("repack",)),
        ({"devices": ("GPU0",), "staging_slots": 4}, ("devices", "staging_slots")),
    ],
)
def test_roles_and_smaller_units_are_live(change: dict[str, object], names: tuple[str, ...]) -> None:
    wanted = replace(ASKED, **change)  # type: ignore[arg-type] # fields of the case
    assert needing_reload(ASKED, wanted, MODEL) == names


def test_an_automatic_unit_needs_a_context_that_was_made_for_it() -> None:
    asked = replace(ASKED, unit_tokens=4)
    assert needing_reload(asked, ASKED, MODEL) == ()
    assert needing_reload(asked, ASKED, replace(MODEL, is_unit_open=False)) == ("unit_tokens",)


def test_hot_slots_on_a_device_are_memory_of_its_own() -> None:
    (only,) = MODEL.slot_classes
    on_device = replace(MODEL, slot_classes=(replace(only, device_slots=6, hot_per_layer=2),))
    assert needing_reload(ASKED, replace(ASKED, hot_per_layer=1), on_device) == ("hot_per_layer",)
    assert live_plan(ASKED, on_device).classes[0].hot_per_layer == 0


def test_resident_routing_needs_a_slot_more_than_its_least_pools() -> None:
    wanted = replace(ASKED, routing=Routing.RESIDENT)
    assert needing_reload(ASKED, wanted, _with_slots(7)) == ()  # 3 layers x top-2, and one
    assert needing_reload(ASKED, wanted, _with_slots(6)) == ("routing",)
    assert needing_reload(wanted, ASKED, _with_slots(6)) == ()


def _with_slots(slots: int) -> ModelInfo:
    (only,) = MODEL.slot_classes
    return replace(MODEL, slot_classes=(replace(only, slots=slots),))


def test_exact_roles_on_the_slots_that_are_there() -> None:
    plan = live_plan(replace(ASKED, unit_tokens=4, pool_per_layer=1, hot_per_layer=9), MODEL)
    # 4 tokens may need all 8 experts of a layer: 10 slots leave no pool beside two layers' misses, and
    # beside one layer's 8 - p misses with 10 - 3 p slots a pool of 1
    assert [(c.slots, c.decode_pool, c.hot_per_layer) for c in plan.classes] == [(10, 1, 1)]
    assert plan.unit_tokens == 4


def test_resident_pools_and_their_window_bound_the_unit() -> None:
    plan = live_plan(replace(ASKED, routing=Routing.RESIDENT, pool_per_layer=2, unit_tokens=16), MODEL)
    # pools of 2 leave 10 - 6 slots for rank 0 of a unit, fewer than the 6 experts outside a pool
    assert [c.decode_pool for c in plan.classes] == [2]
    assert plan.unit_tokens == 4


def test_classes_keep_their_own_slots() -> None:
    classes = (SlotClassInfo((3,), 8, 8, 100, 8, 0), SlotClassInfo((4, 5), 8, 9, 100, 1, 7))
    plan = live_plan(replace(ASKED, hot_per_layer=1), replace(MODEL, slot_classes=classes))
    # a token's 2 experts for two layers need 4 slots to lend: 9 - 2 p >= 4
    assert [(c.spec.layers, c.slots, c.decode_pool) for c in plan.classes] == [((3,), 8, 8), ((4, 5), 9, 2)]


def test_a_model_without_experts_has_a_unit_only() -> None:
    dense = replace(model_info(()), largest_unit_tokens=512)
    assert live_plan(replace(ASKED, unit_tokens=100), dense).unit_tokens == 100
