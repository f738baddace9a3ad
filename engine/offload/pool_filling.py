"""Fills pools between passes: the members of resident pools, and the warm-up."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from engine.offload.expert_loads import ExpertLoads
from engine.offload.pass_statistics import PassStatistics
from engine.offload.read_job import ReadReason
from engine.offload.resident_routing import ResidentRouting
from engine.offload.slot_layers import LayerSlots
from engine.placement.slot_table import Ids
from engine.placement.warm_up import warm_up_experts

_OnExpert = Callable[[int, int], None]
_OnWait = Callable[[int, int], None]  # index of the layer waited for, nanoseconds


def _nobody_asks(_: int, __: int) -> None:
    """Outside passes no layer's time counts."""


class PoolFilling:
    """Owned by the engine thread; `layers` in order; `resident`: None with exact routing."""

    def __init__(
        self,
        layers: list[LayerSlots],
        loads: ExpertLoads,
        statistics: PassStatistics,
        resident: ResidentRouting | None,
    ) -> None:
        self._layers, self._loads, self._resident = layers, loads, resident
        self._statistics = statistics
        self._is_election_due = self._has_all_members = False

    def note_election(self, is_due: bool) -> None:
        """After a pass: whether enough was seen since the last election."""
        self._is_election_due |= is_due

    def begin_pass(self, is_prefill: bool, n_tokens: int, check: Callable[[], None]) -> None:
        """Pools change between passes only, and a prompt is one pass however many units it has."""
        if self._resident is None:
            return
        if self._is_election_due and not is_prefill:
            self._is_election_due = False
            self._has_all_members &= not self._resident.pools.elect()
        if not self._has_all_members:
            self.load_members(check, on_wait=self._statistics.waited_for_members)
        self._resident.pools.count_tokens(n_tokens)

    def load_members(
        self,
        check: Callable[[], None],
        on_expert: _OnExpert = lambda done, total: None,
        reason: ReadReason = ReadReason.PROMOTE,
        on_wait: _OnWait = _nobody_asks,
    ) -> None:
        """Bring every member of the resident pools into a slot; outside passes.

        `on_expert(done, experts)` now and then; `check` raises to stop. Raises DiskReadError.
        """
        if self._resident is None:
            return
        self._has_all_members = False  # until it is so: after a fault the next pass tries again
        self._settle(check, on_wait)
        members = self._resident.pools.members
        wanted = [
            np.flatnonzero(members[layer.index, : layer.slot_class.table.n_expert]) for layer in self._layers
        ]
        self._fill(wanted, reason, check, on_expert, on_wait)
        self._has_all_members = True

    def warm_up(self, check: Callable[[], None], on_expert: _OnExpert) -> None:
        """Bring the experts into memory that will likely be wanted; outside passes.

        Resident routing: pools are elected among all experts, unless they are fixed. Exact routing: all
        slots go to the likeliest experts. `on_expert(done, experts)` now and then; `check` raises to stop,
        what has come by then stays. Raises DiskReadError.
        """
        self._settle(check, _nobody_asks)
        if self._resident is not None:
            if not self._resident.pools.is_fixed:
                self._resident.pools.elect(from_all=True)
                self._is_election_due = False
            self.load_members(check, on_expert, ReadReason.WARM_UP)
            return
        tables = {layer.slot_class.table for layer in self._layers}
        best = {table: warm_up_experts(table.uses.chance, table.n_slots) for table in tables}
        try:
            wanted = [best[layer.slot_class.table][layer.row] for layer in self._layers]
            self._fill(wanted, ReadReason.WARM_UP, check, on_expert, _nobody_asks)
        finally:
            for layer in self._layers:  # slots that nobody may evict would starve the layer in flight
                layer.slot_class.table.set_pool(layer.row, np.empty(0, np.int64))

    def _settle(self, check: Callable[[], None], on_wait: _OnWait) -> None:
        """What was streamed for the last pass may still be on its way."""
        for layer in self._layers:
            on_wait(layer.index, self._loads.wait_layer(layer, check))

    def _fill(
        self,
        wanted: list[Ids],
        reason: ReadReason,
        check: Callable[[], None],
        on_expert: _OnExpert,
        on_wait: _OnWait,
    ) -> None:
        """Bring these experts of each layer into slots and make them the layer's pool."""
        total = done = 0
        for layer, experts in zip(self._layers, wanted, strict=True):
            # nobody who stays may give way to one who comes
            is_here = layer.slot_class.table.table[layer.row, experts] >= 0
            layer.slot_class.table.set_pool(layer.row, experts[is_here])
            total += int(np.count_nonzero(~is_here))
        on_expert(0, total)
        for layer, experts in zip(self._layers, wanted, strict=True):
            check()
            table = layer.slot_class.table
            missing = experts[table.table[layer.row, experts] < 0]
            if len(missing):
                advance = partial(_advance, on_expert, done, total)
                on_wait(layer.index, self._loads.fetch(layer, missing, reason, check, advance))
                done += len(missing)
            table.set_pool(layer.row, experts)


def _advance(on_expert: _OnExpert, before: int, total: int, n_done: int) -> None:
    on_expert(before + n_done, total)
