"""Resident routing: slots that nobody has yet get the experts that routers wanted most, beside an answer.

Only a token's first choice is read for it, so those slots would stay empty for long. And when a pool is
elected anew, a prompt that was read before makes other experts its first choice: likely some that it wanted.
"""

from __future__ import annotations

import numpy as np

from engine.offload.expert_loads import ExpertLoads
from engine.offload.pass_statistics import PassStatistics
from engine.offload.read_job import ReadReason
from engine.offload.resident_routing import ResidentRouting
from engine.offload.slot_layers import LayerSlots, layers_by_class
from engine.placement.warm_up import most_wanted

_MOST_IN_FLIGHT = 8  # experts of a class: some milliseconds, if a layer should need the drive meanwhile
_NONE = np.empty(0, np.int64)


class WindowFilling:
    """Owned by the engine thread; `layers` in any order; `resident`: None with exact routing."""

    def __init__(
        self,
        layers: list[LayerSlots],
        loads: ExpertLoads,
        statistics: PassStatistics,
        resident: ResidentRouting | None,
    ) -> None:
        self._loads, self._statistics, self._resident = loads, statistics, resident
        self._classes = layers_by_class(layers)

    def run(self) -> None:
        """Between passes: begin to read a few more, behind all other reads; nothing is waited for.

        Not for pools that are fixed: there a prompt that was read before wants what is there.
        """
        if self._resident is None or self._resident.pools.is_fixed:
            return
        for layers in self._classes:
            slot_class = layers[0].slot_class
            room = min(slot_class.table.n_free, _MOST_IN_FLIGHT - len(slot_class.jobs))
            if room > 0:
                self._fill(layers, room, self._resident)

    def _fill(self, layers: list[LayerSlots], room: int, resident: ResidentRouting) -> None:
        table = layers[0].slot_class.table
        heat = resident.pools.learned()[[layer.index for layer in layers], : table.n_expert]
        is_absent = np.array([table.absent(layer.row) for layer in layers])
        for layer, experts in zip(layers, most_wanted(heat, is_absent, room), strict=True):
            if len(experts):  # there is a free slot for each, so nobody gives way
                chance = np.ones(len(experts))
                moves = table.prepare_stream(layer.row, experts, chance, layer.row, _NONE, 1)
                self._statistics.streamed(layer.index, moves.missing)
                self._loads.start(layer, moves.missing, moves.slots, ReadReason.STREAM)
