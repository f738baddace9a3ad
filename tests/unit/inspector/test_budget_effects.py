"""What differs from what was asked is said in sentences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.inspector.budget_effects import differences, states
from engine.config import GIB, MIB, LoadSettings, Repack
from engine.model_facts import DeviceInfo, ModelInfo
from tests.support.telemetry_events import model_info

_DEVICE = DeviceInfo("rpc:box:50052", "", 8 * GIB, 4 * GIB, 3 * GIB, (3, 4))


def _asked(**changes: object) -> LoadSettings:
    return LoadSettings(Path("/models/tiny.gguf"), **changes)  # type: ignore[arg-type] # the fields' types


def _loaded(**changes: object) -> ModelInfo:
    """Three layers of 8 experts, pools of 2; changes of the one slot class."""
    model = model_info()
    return replace(model, slot_classes=(replace(model.slot_classes[0], **changes),))


def test_nothing_asked_nothing_differs() -> None:
    assert differences(_asked(), model_info()) == []
    assert states(_asked(), model_info()) == {
        "ram_budget_bytes": "now 954 MiB",
        "pool_per_layer": "now 2 of 8",
        "hot_per_layer": "now 0",
        "unit_tokens": "now 16 tokens",
        "repack": "now as in the file",
        "devices": "now the processor only",
    }


def test_a_dense_model_has_no_slots_to_speak_of() -> None:
    assert set(states(_asked(), model_info(()))) == {"ram_budget_bytes", "unit_tokens", "devices"}
    assert differences(_asked(pool_per_layer=4, hot_per_layer=2, repack=Repack.ON), model_info(())) == []


def test_a_smaller_pool_is_named_with_its_reason() -> None:
    (sentence,) = differences(_asked(pool_per_layer=5), _loaded())
    assert sentence == (
        "You asked for 5 slots per layer, the pools have 2: the budget has no more slots, or the layer that "
        "computes needs the rest."
    )
    assert states(_asked(pool_per_layer=5), _loaded())["pool_per_layer"] == "now 2 of 8 (you asked for 5)"
    (sentence,) = differences(_asked(pool_per_layer=9), _loaded(pool_per_layer=8))
    assert sentence.endswith("the pools have 8: the model has no more experts.")


def test_pools_of_several_classes_are_a_range() -> None:
    model = model_info()
    (one,) = model.slot_classes
    model = replace(model, slot_classes=(one, replace(one, layers=(6,), pool_per_layer=4)))
    assert states(_asked(), model)["pool_per_layer"] == "now 2–4 of 8"
    assert differences(_asked(pool_per_layer=4), model)[0].startswith(
        "You asked for 4 slots per layer, the pools have 2–4"
    )


def test_the_hot_zone_and_what_of_it_is_locked() -> None:
    model = _loaded(hot_per_layer=1, slot_bytes=MIB)
    assert states(_asked(), model)["hot_per_layer"] == "now 1 in RAM"
    locked = replace(model, locked_bytes=MIB)
    assert states(_asked(hot_per_layer=3), locked)["hot_per_layer"] == "now 1 in locked RAM (you asked for 3)"
    on_device = _loaded(hot_per_layer=1, device_slots=5)
    assert states(_asked(), on_device)["hot_per_layer"] == "now 1 in device memory"
    # one hot slot for each of three layers, the rest is staging
    assert states(_asked(staging_slots=4), on_device)["staging_slots"] == "now 2 (you asked for 4)"
    assert differences(_asked(hot_per_layer=2), on_device) == [
        "You asked for 2 hot experts per layer, there are 1."
    ]


@pytest.mark.parametrize(
    ("repack", "is_repacked", "words"),
    [
        (Repack.ON, False, ["You asked for repacked weights; 0 of 3 layers have them."]),
        (Repack.ON, True, []),
        (
            Repack.OFF,
            True,
            ["You asked for weights as they are in the file; 3 of 3 layers are repacked."],
        ),
        (Repack.AUTO, True, []),
    ],
)
def test_repacking(repack: Repack, is_repacked: bool, words: list[str]) -> None:
    model = _loaded(is_repacked=is_repacked)
    assert differences(_asked(repack=repack), model) == words
    assert states(_asked(), model)["repack"] == ("now repacked" if is_repacked else "now as in the file")


def test_devices_that_hold_nothing_are_named() -> None:
    model = replace(_loaded(), devices=(_DEVICE,))
    assert differences(_asked(devices=("rpc:box:50052",)), model) == []
    assert differences(_asked(devices=("rpc:box:50052", "rpc:box:5005")), model) == [
        "No weights are on “rpc:\u200bbox:\u200b5005”."
    ]
    found = states(_asked(), model)
    assert found["devices"] == "now rpc:\u200bbox:\u200b50052 (2 layers)"
    assert found["vram_budget_bytes"] == "now rpc:\u200bbox:\u200b50052 3 GiB of 4 GiB"


def test_a_second_device_of_a_server_belongs_to_it() -> None:
    model = replace(_loaded(), devices=(replace(_DEVICE, name="rpc:box:50052#1"),))
    assert differences(_asked(devices=("rpc:box:50052",)), model) == []


def test_budget_unit_and_the_engine_s_own_notes() -> None:
    model = replace(model_info(), used_bytes=5 * MIB, notes=("The prefill unit is 16 tokens instead of 64.",))
    asked = _asked(ram_budget_bytes=GIB, unit_tokens=64)
    assert differences(asked, model) == [
        "You asked for a budget of 1 GiB; 954 MiB is in force.",
        "The prefill unit is 16 tokens instead of 64.",
    ]
    assert states(asked, model)["unit_tokens"] == "now 16 tokens (you asked for 64)"
    assert states(asked, model)["ram_budget_bytes"] == "now 954 MiB, 5 MiB used after the load"
