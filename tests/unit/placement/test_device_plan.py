"""Device plans against sums done by hand."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from engine.config import MIB
from engine.placement.device_plan import DevicePlan, DeviceRequest, DeviceRoom, plan_devices
from engine.placement.placement_plan import SlotClassSpec

GIB = 1 << 30
# 4 layers of 16 experts, 1 MiB each; 10 MiB of dense weights per layer, 20 MiB of output, 30 MiB to compute
SPEC = SlotClassSpec((0, 1, 2, 3), 16, MIB)
REQUEST = DeviceRequest(
    rooms=(DeviceRoom("card", 4 * GIB),),
    layer_bytes=(10 * MIB, 10 * MIB, 10 * MIB, 10 * MIB, 20 * MIB),
    compute_bytes=30 * MIB,
    classes=(SPEC,),
    top_k=4,
)
DENSE = 60 * MIB + 30 * MIB


def plan(**changes: object) -> DevicePlan:
    return plan_devices(replace(REQUEST, **changes))  # type: ignore[arg-type] # fields of the request


def test_with_room_for_all_every_expert_has_a_slot() -> None:
    full = plan()
    assert (full.first_layer, full.layers) == (0, (5,))
    assert full.budget_bytes == (4 * GIB - 600 * MIB,)
    assert full.used_bytes == (DENSE + 64 * MIB,)
    assert [c.slots for c in full.classes] == [64]
    assert full.unit_tokens is None


def test_a_cap_replaces_the_headroom_but_not_what_is_free() -> None:
    assert plan(budget_bytes=GIB).budget_bytes == (GIB,)
    assert plan(budget_bytes=9 * GIB).budget_bytes == (4 * GIB,)


def test_what_is_left_beside_the_hot_zone_becomes_staging() -> None:
    tight = plan(budget_bytes=DENSE + 40 * MIB)
    (only,) = tight.classes
    assert (only.hot_per_layer, only.slots) == (5, 40)  # 20 hot, 20 staging
    assert tight.unit_tokens == 512  # a unit misses at most the 11 experts that are not hot
    assert tight.used_bytes == tight.budget_bytes


def test_asked_hot_zone_and_staging() -> None:
    asked = plan(hot_per_layer=2, staging_slots=9, unit_tokens=1)
    assert [(c.hot_per_layer, c.slots) for c in asked.classes] == [(2, 8 + 9)]


def test_least_staging_is_what_a_unit_may_miss() -> None:
    for unit, need in ((1, 4), (2, 8), (3, 12), (4, 14), (64, 14)):
        least = plan(hot_per_layer=2, staging_slots=1, unit_tokens=unit)
        assert [c.slots for c in least.classes] == [8 + need]
        assert least.unit_tokens == unit


def test_a_unit_shrinks_only_when_no_hot_zone_is_left() -> None:
    small = plan(budget_bytes=DENSE + 10 * MIB, unit_tokens=64, hot_per_layer=5)
    (only,) = small.classes
    assert (only.hot_per_layer, only.slots, small.unit_tokens) == (0, 10, 2)
    # two tokens ask for 8 experts at most; the rest of the 10 is staging too


def test_asked_slots_for_the_last_layers_if_not_for_all() -> None:
    few = plan(budget_bytes=DENSE + 3 * MIB, unit_tokens=1, hot_per_layer=0, staging_slots=1)
    assert few.classes == ()  # one token alone needs 4
    mixed = (SlotClassSpec((0, 2), 16, 4 * MIB), SlotClassSpec((1, 3), 16, MIB))
    some = plan(budget_bytes=DENSE + 10 * MIB, unit_tokens=1, hot_per_layer=0, staging_slots=1, classes=mixed)
    assert [(c.spec.layers, c.slots) for c in some.classes] == [((3,), 4)]


def test_experts_stay_in_ram_where_copying_takes_longer() -> None:
    def chosen(link: float | None, memory: float | None) -> list[tuple[tuple[int, ...], int]]:
        rooms = (DeviceRoom("card", 4 * GIB, link_bytes_per_second=link),)
        found = plan(rooms=rooms, budget_bytes=DENSE + 40 * MIB, memory_bytes_per_second=memory)
        return [(c.spec.layers, c.slots) for c in found.classes]

    # 40 MiB are 40 of 64 slots: 3/8 of the picks cross the link; or all of two layers, half of the picks stay
    staged, whole = [((0, 1, 2, 3), 40)], [((2, 3), 32)]
    assert chosen(3.1e9, 4e9) == staged
    assert chosen(2.9e9, 4e9) == whole
    assert chosen(None, 4e9) == chosen(3.1e9, None) == staged


def test_staging_for_a_few_tokens_is_no_choice_unless_asked() -> None:
    rooms = (DeviceRoom("card", 4 * GIB, link_bytes_per_second=1e12),)
    tight = plan(rooms=rooms, budget_bytes=DENSE + 10 * MIB, memory_bytes_per_second=1e9)
    assert (tight.classes, tight.first_layer) == ((), 0)  # 10 slots would allow units of 2 tokens
    asked = plan(rooms=rooms, budget_bytes=DENSE + 10 * MIB, memory_bytes_per_second=1e9, unit_tokens=2)
    assert [c.slots for c in asked.classes] == [10]


def test_layers_that_do_not_fit_stay() -> None:
    partly = plan(budget_bytes=75 * MIB, staging_slots=1)
    assert (partly.first_layer, partly.layers) == (2, (3,))  # 10 + 10 + 20 + 30 to compute
    assert all(layer >= 2 for layer in partly.expert_layers)
    nothing = plan(budget_bytes=40 * MIB)
    assert (nothing.layers, nothing.classes, nothing.used_bytes) == ((0,), (), (0,))


def test_devices_share_layers_by_what_they_can_take() -> None:
    rooms = (DeviceRoom("large", 3 * GIB), DeviceRoom("small", 2 * GIB))
    shared = plan(rooms=rooms, budget_bytes=None, layer_bytes=(10 * MIB,) * 9 + (20 * MIB,))
    # 2,472 and 1,448 MiB after the headroom: 63 % and 37 % of ten layers
    assert shared.layers == (6, 4)
    assert [(c.device, c.spec.layers) for c in shared.classes] == [(0, (0, 1, 2, 3))]
    two_classes = (SlotClassSpec((0, 5, 7), 16, MIB), SlotClassSpec((3, 6), 16, 2 * MIB))
    shared = plan(rooms=rooms, layer_bytes=(10 * MIB,) * 9 + (20 * MIB,), classes=two_classes)
    assert [shared.expert_layers_on(device) for device in (0, 1)] == [(0, 3, 5), (6, 7)]


def test_no_buffer_is_larger_than_the_device_allows() -> None:
    limited = plan(rooms=(DeviceRoom("card", 4 * GIB, 30 * MIB),), staging_slots=None, hot_per_layer=5)
    assert [c.size_bytes for c in limited.classes] == [30 * MIB]


@given(
    budget_mib=st.integers(1, 400),
    hot=st.none() | st.integers(0, 20),
    staging=st.none() | st.integers(1, 80),
    unit=st.none() | st.sampled_from([1, 3, 16, 64]),
    rooms=st.integers(1, 3),
)
def test_never_over_budget_and_always_room_for_a_unit(
    budget_mib: int, hot: int | None, staging: int | None, unit: int | None, rooms: int
) -> None:
    found = plan(
        rooms=tuple(DeviceRoom(str(i), GIB) for i in range(rooms)),
        budget_bytes=budget_mib * MIB,
        hot_per_layer=hot,
        staging_slots=staging,
        unit_tokens=unit,
    )
    for used, budget in zip(found.used_bytes, found.budget_bytes, strict=True):
        assert used <= budget
    assert found.first_layer + sum(found.layers) == 5
    for each in found.classes:
        tokens = found.unit_tokens or 512
        may_miss = min(4 * tokens, 16 - each.hot_per_layer)
        assert each.slots - each.hot_per_layer * len(each.spec.layers) >= may_miss or each.is_complete
