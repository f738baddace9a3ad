"""Residency decisions against a plain-Python model of the rules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from engine.placement.slot_table import Relocation, SlotTable
from engine.placement.tier import Tier


def ids(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, np.int64)


def bring(table: SlotTable, row: int, *experts: int, n_tokens: int = 1) -> None:
    """One token, or a unit of which every token uses these experts, in a layer."""
    table.observe(row, ids(*experts), np.full(len(experts), n_tokens), n_tokens)
    moves = table.prepare(row, ids(*experts), n_tokens)
    assert moves is not None
    table.complete(row, moves.missing)


def resident(table: SlotTable, row: int) -> set[int]:
    return set(np.flatnonzero(table.table[row] >= 0).tolist())


def test_decode_evicts_what_was_used_longest_ago_among_equals() -> None:
    table = SlotTable(n_row=1, n_expert=8, n_slots=3, top_k=1)
    for expert in (0, 1, 2, 0, 5):
        bring(table, 0, expert)
    assert resident(table, 0) == {0, 2, 5}
    assert table.evictions == 1


def test_decode_keeps_what_is_used_often_over_what_was_used_last() -> None:
    table = SlotTable(n_row=1, n_expert=8, n_slots=3, top_k=1)
    for expert in (0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 5):
        bring(table, 0, expert)
    assert resident(table, 0) == {0, 2, 5}  # the least recently used would have been 0


def test_pool_members_survive_a_sweep() -> None:
    table = SlotTable(n_row=2, n_expert=8, n_slots=6, top_k=1)
    bring(table, 0, 3)
    bring(table, 1, 4)
    table.set_pool(0, ids(3))
    table.set_pool(1, ids(4))
    for _ in range(9):
        for expert in (0, 1, 2, 5, 6, 7):
            bring(table, 0, expert)
            bring(table, 1, expert)
    assert 3 in resident(table, 0)
    assert 4 in resident(table, 1)


def test_prefill_evicts_what_is_needed_last() -> None:
    table = SlotTable(n_row=4, n_expert=4, n_slots=6, top_k=1)
    for row in range(3):
        bring(table, row, 0, 1, n_tokens=16)
    # layer 3 is next; after it the sweep starts again at layer 0: layer 2 is needed last
    bring(table, 3, 0, 1, n_tokens=16)
    assert [len(resident(table, row)) for row in range(4)] == [2, 2, 0, 2]


def test_leased_experts_are_never_victims() -> None:
    table = SlotTable(n_row=1, n_expert=8, n_slots=4, top_k=1)
    bring(table, 0, 0, 1, 2, 3)
    moves = table.prepare(0, ids(0, 1, 6, 7), 1)
    assert moves is not None
    table.complete(0, moves.missing)
    assert resident(table, 0) == {0, 1, 6, 7}


def test_prepare_changes_nothing_when_it_must_wait() -> None:
    table = SlotTable(n_row=2, n_expert=8, n_slots=4, top_k=1)
    first = table.prepare(0, ids(0, 1, 2), 1)  # loads that have not ended
    assert first is not None
    assert table.prepare(1, ids(4, 5), 1) is None
    table.complete(0, first.missing)
    assert resident(table, 0) == {0, 1, 2}
    assert table.prepare(1, ids(4, 5), 1) is not None


def test_abort_frees_the_slots() -> None:
    table = SlotTable(n_row=1, n_expert=8, n_slots=2, top_k=1)
    moves = table.prepare(0, ids(3, 4), 1)
    assert moves is not None
    table.abort(0, moves.missing)
    assert resident(table, 0) == set()
    bring(table, 0, 5, 6)
    assert resident(table, 0) == {5, 6}


def test_awaited_experts_are_not_loaded_twice() -> None:
    table = SlotTable(n_row=2, n_expert=8, n_slots=8, top_k=1)
    stream = table.prepare_stream(1, ids(1, 2, 3), np.full(3, 0.5), 0, ids(), 16)
    moves = table.prepare(1, ids(2, 3, 5), 16)
    assert moves is not None
    assert stream.missing.tolist() == [1, 2, 3]
    assert (moves.missing.tolist(), moves.awaited.tolist()) == ([5], [2, 3])


def test_stream_takes_only_what_is_likely_needed_later() -> None:
    table = SlotTable(n_row=3, n_expert=8, n_slots=6, top_k=1)
    bring(table, 1, 0, 1)  # the coming layer's own
    bring(table, 2, 0, 1)  # needed after it
    bring(table, 0, 0, 1)  # the layer in flight, leased
    table.observe(2, ids(0), ids(9), 16)
    leased = table.table[0, [0, 1]].astype(np.int64)
    # nobody ever picked expert 1 of layer 2, everyone its expert 0
    moves = table.prepare_stream(1, ids(4, 5, 7), np.array([0.5, 0.001, 0.001]), 0, leased, 16)
    assert moves.missing.tolist() == [4]
    assert resident(table, 2) == {0}
    assert resident(table, 1) == {0, 1}
    assert resident(table, 0) == {0, 1}


def test_the_pool_on_screen_are_the_most_used() -> None:
    table = SlotTable(n_row=1, n_expert=8, n_slots=4, top_k=1)
    for expert in (0, 2, 3, 1, 3, 1, 3, 1):
        bring(table, 0, expert)
    before = table.table.copy()
    assert table.tiers(2)[0].tolist() == [
        Tier.HOST_WINDOW, Tier.HOST_POOL, Tier.HOST_WINDOW, Tier.HOST_POOL,
        Tier.DISK, Tier.DISK, Tier.DISK, Tier.DISK,
    ]  # fmt: skip
    assert table.tiers(0)[0].tolist().count(Tier.HOST_WINDOW) == 4
    assert (table.table == before).all()


def test_a_named_pool_is_shown_as_named() -> None:
    table = SlotTable(n_row=1, n_expert=4, n_slots=3, top_k=1)
    for expert in (0, 1, 1, 2):
        bring(table, 0, expert)
    table.set_pool(0, ids(2))
    assert table.tiers(2)[0].tolist() == [Tier.HOST_WINDOW, Tier.HOST_WINDOW, Tier.HOST_POOL, Tier.DISK]


def test_pools_are_the_last_resort() -> None:
    table = SlotTable(n_row=2, n_expert=4, n_slots=4, top_k=1)
    for row in (0, 1):
        bring(table, row, 0, 1)
        table.set_pool(row, ids(0, 1))
    bring(table, 1, 0, 2, 3)  # one slot short: pools give one up before anything fails
    assert {0, 2, 3} <= resident(table, 1)


def hot_ones(table: SlotTable, row: int) -> set[int]:
    return set(np.flatnonzero(table.tiers(0)[row] == Tier.HOT).tolist())


def test_hot_experts_move_into_the_zone_and_are_never_victims() -> None:
    table = SlotTable(n_row=2, n_expert=8, n_slots=6, top_k=1, hot_per_row=1)
    bring(table, 0, 0, 1, 2)  # slots 0, 1, 2
    bring(table, 1, 5, 6)  # slots 3, 4
    weight = np.zeros((2, 8))
    weight[0, 1], weight[1, 6] = 3, 2
    # 6 of row 1 changes places with 0 of row 0; 1 of row 0 is in the zone already
    assert table.promote(weight, 9) == [Relocation(row=1, slot=4, zone_slot=0, other_row=0)]
    assert table.table[0].tolist() == [4, 1, 2, -1, -1, -1, -1, -1]
    assert table.table[1].tolist() == [-1, -1, -1, -1, -1, 3, 0, -1]
    assert [hot_ones(table, 0), hot_ones(table, 1)] == [{1}, {6}]
    for _ in range(9):
        for expert in (2, 3, 4, 7):
            bring(table, 0, expert)
            bring(table, 1, expert)
    assert [hot_ones(table, 0), hot_ones(table, 1)] == [{1}, {6}]
    assert table.promote(weight, 9) == []


def test_a_free_place_in_the_zone_is_taken_without_exchange() -> None:
    table = SlotTable(n_row=1, n_expert=8, n_slots=4, top_k=1, hot_per_row=2)
    bring(table, 0, 0)
    fault = table.prepare(0, ids(1), 1)
    assert fault is not None
    bring(table, 0, 2)
    table.abort(0, ids(1))  # slot 1 is free again
    weight = np.array([[0, 9, 5, 0, 0, 0, 0, 0.0]])
    assert table.promote(weight, 9) == [Relocation(row=0, slot=2, zone_slot=1, other_row=None)]
    assert (hot_ones(table, 0), table.table[0, 2]) == ({2}, 1)
    bring(table, 0, 1)
    assert table.table[0, 1] == 2  # the slot it left


def test_work_is_bounded_and_goes_on() -> None:
    table = SlotTable(n_row=1, n_expert=8, n_slots=6, top_k=1, hot_per_row=2)
    bring(table, 0, 0, 1, 2, 3)
    weight = np.array([[0, 0, 1, 2, 0, 0, 0, 0.0]])
    assert [len(table.promote(weight, 1)) for _ in range(3)] == [1, 1, 0]
    assert hot_ones(table, 0) == {2, 3}


def test_what_is_on_its_way_is_left_alone() -> None:
    table = SlotTable(n_row=1, n_expert=8, n_slots=4, top_k=1, hot_per_row=1)
    moves = table.prepare(0, ids(5), 1)  # goes to slot 0, the zone
    assert moves is not None
    bring(table, 0, 1)
    assert table.promote(np.arange(8.0)[None], 9) == []
    table.complete(0, ids(5))
    assert table.promote(np.arange(8.0)[None], 9) == []
    assert hot_ones(table, 0) == {5}


def test_of_a_named_pool_only_members_are_hot() -> None:
    table = SlotTable(n_row=1, n_expert=8, n_slots=4, top_k=1, hot_per_row=1)
    bring(table, 0, 0, 1, 2)
    table.set_pool(0, ids(1, 2))
    weight = np.array([[9, 5, 1, 0, 0, 0, 0, 0.0]])
    assert len(table.promote(weight, 9)) == 1
    assert hot_ones(table, 0) == {1}
    table.set_pool(0, ids(2))
    assert hot_ones(table, 0) == set()


def test_with_a_slot_for_every_expert_hot_is_a_label() -> None:
    table = SlotTable(n_row=1, n_expert=4, n_slots=4, top_k=1, hot_per_row=2)
    bring(table, 0, 1, 2, 3)
    assert table.promote(np.array([[9, 3, 5, 4.0]]), 9) == []
    assert hot_ones(table, 0) == {2, 3}
    assert table.table[0].tolist() == [-1, 1, 2, 3]


class Residency(RuleBasedStateMachine):
    """Any sequence of moves keeps one expert per slot and one slot per expert, and never loses a lease.

    Each expert's bytes are where the table says, and hot ones stay.
    """

    @initialize(
        n_row=st.integers(1, 4), n_expert=st.integers(2, 10), extra=st.integers(0, 20), hot=st.integers(0, 4)
    )
    def build(self, n_row: int, n_expert: int, extra: int, hot: int) -> None:
        self.shape = (n_row, n_expert)
        self.n_slots = min(2 + extra, n_row * n_expert)
        self.hot = hot = min(hot, (self.n_slots - 1) // n_row)
        window = self.n_slots - hot * n_row
        # what one layer may need at once, as the planner promises it
        self.limit = n_expert if window >= n_expert - hot else window
        self.table = SlotTable(n_row, n_expert, self.n_slots, 2, hot_per_row=hot)
        self.bytes = np.full(self.n_slots, -1)  # whose bytes each slot holds
        self.flying: list[tuple[int, np.ndarray[tuple[int], np.dtype[np.int64]]]] = []

    @rule(data=st.data(), n_tokens=st.sampled_from([1, 16]))
    def visit(self, data: st.DataObject, n_tokens: int) -> None:
        row = data.draw(st.integers(0, self.shape[0] - 1))
        wanted = data.draw(st.sets(st.integers(0, self.shape[1] - 1), min_size=1, max_size=self.limit))
        experts = ids(*sorted(wanted))
        before = [hot_ones(self.table, each) for each in range(self.shape[0])]
        self.table.observe(row, experts, np.ones(len(experts), np.int64), n_tokens)
        moves = self.table.prepare(row, experts, n_tokens)
        if moves is None:
            assert self.flying, "with no load in flight a layer must always get its slots"
            self.land()
            moves = self.table.prepare(row, experts, n_tokens)
            assert moves is not None
        for flying_row, flying in list(self.flying):
            if flying_row == row:
                self.table.complete(row, flying)
                self.flying.remove((flying_row, flying))
        self.bytes[moves.slots] = row * self.shape[1] + moves.missing
        self.table.complete(row, moves.missing)
        slots = self.table.table[row, experts]
        assert self.bytes[slots].tolist() == (row * self.shape[1] + experts).tolist()
        assert [hot_ones(self.table, each) for each in range(self.shape[0])] == before

    @rule(data=st.data(), most_moves=st.integers(0, 3))
    def promote(self, data: st.DataObject, most_moves: int) -> None:
        seed = data.draw(st.integers(0, 99))
        weight = np.random.default_rng(seed).integers(0, 4, self.shape).astype(float)
        for move in self.table.promote(weight, most_moves):
            self.bytes[[move.slot, move.zone_slot]] = self.bytes[[move.zone_slot, move.slot]]
        hot = self.table.tiers(0) == Tier.HOT
        assert hot.sum(axis=1).max(initial=0) <= self.hot
        assert (self.table.table[hot] < self.hot * self.shape[0]).all() or self.table.is_complete

    @rule(data=st.data())
    def stream(self, data: st.DataObject) -> None:
        row = data.draw(st.integers(0, self.shape[0] - 1))
        experts = ids(*sorted(data.draw(st.sets(st.integers(0, self.shape[1] - 1)))))
        chance = np.linspace(1, 0, len(experts))
        moves = self.table.prepare_stream(row, experts, chance, (row - 1) % self.shape[0], ids(), 16)
        self.bytes[moves.slots] = row * self.shape[1] + moves.missing
        if len(moves.missing):
            self.flying.append((row, moves.missing))

    @rule(keep=st.booleans())
    def land(self, keep: bool = True) -> None:
        for row, experts in self.flying:
            (self.table.complete if keep else self.table.abort)(row, experts)
        self.flying.clear()

    @rule(row=st.integers(0, 3), size=st.integers(0, 4))
    def name_pool(self, row: int, size: int) -> None:
        row %= self.shape[0]
        usable = np.flatnonzero(self.table.table[row] >= 0)
        self.table.set_pool(row, usable[:size])
        assert (self.table.tiers(size)[row] > 0).sum() == len(usable)

    @invariant()
    def one_slot_each(self) -> None:
        used = self.table.table[self.table.table >= 0]
        assert len(set(used.tolist())) == len(used) <= self.n_slots
        owners = np.flatnonzero(self.table.table >= 0)
        assert self.bytes[self.table.table.ravel()[owners]].tolist() == owners.tolist()


TestResidency = Residency.TestCase
TestResidency.settings = settings(max_examples=60, stateful_step_count=40)


def test_ids_out_of_range_are_an_error() -> None:
    table = SlotTable(1, 4, 4, 1)
    with pytest.raises(IndexError):
        table.prepare(0, ids(7), 1)


def test_with_a_slot_for_every_expert_each_has_its_own() -> None:
    table = SlotTable(n_row=2, n_expert=4, n_slots=8, top_k=1)
    bring(table, 1, 2, 3)
    stream = table.prepare_stream(0, ids(1), np.ones(1), 1, ids(), 16)
    table.complete(0, stream.missing)
    bring(table, 0, 3)
    assert table.table.tolist() == [[-1, 1, -1, 3], [-1, -1, 6, 7]]
