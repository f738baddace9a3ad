"""Promotion to devices: at the end of a pass, the most used experts of each layer get the hot slots there.

An expert that is staged already only changes its label. Others are copied, within a bound of time. Routing
knows nothing of it: ids and logits are the same before and after.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from engine.offload.device_slots import DeviceRow, Transfer
from engine.offload.expert_loads import ExpertLoads
from engine.offload.pass_statistics import PassStatistics
from engine.offload.read_job import ReadReason
from engine.offload.resident_routing import ResidentRouting
from engine.offload.slot_layers import LayerSlots
from engine.placement.hot_zone import choose_hot
from engine.placement.slot_table import Ids

_MOST_BUSY_NS = 50_000_000  # of copies per promotion; what is left comes after the next pass


class DevicePromotion:
    """Owned by the engine thread; runs between passes only. `resident`: None with exact routing."""

    def __init__(
        self,
        layers: list[LayerSlots],
        loads: ExpertLoads,
        statistics: PassStatistics,
        resident: ResidentRouting | None,
    ) -> None:
        self._loads, self._statistics, self._resident = loads, statistics, resident
        self._layers = [
            (layer, layer.device)
            for layer in layers
            if layer.device is not None
            and not layer.top.is_complete
            and layer.device.slot_class.hot_per_layer
        ]

    def run(self, check: Callable[[], None]) -> bool:
        """Bring hot zones up to date, within bounds; whether anything moved.

        Raises DeviceLostError, DiskReadError, or what `check` raises.
        """
        weights = self._weights()
        wanted = [_hot(row, weight) for (_, row), weight in zip(self._layers, weights, strict=True)]
        for (_, row), experts in zip(self._layers, wanted, strict=True):
            row.slot_class.table.set_pool(row.row, experts[row.slot_of[experts] >= 0])
        busy_ns = 0
        for (layer, row), experts in zip(self._layers, wanted, strict=True):
            for expert in experts[row.slot_of[experts] < 0].tolist():
                if busy_ns >= _MOST_BUSY_NS:
                    return True
                busy_ns += self._bring(layer, row, np.array([expert]), check).busy_ns
            row.slot_class.table.set_pool(row.row, experts[row.slot_of[experts] >= 0])
        return busy_ns > 0

    def _weights(self) -> list[NDArray[np.float64]]:
        """How often each layer's experts are used, by whatever is counted there; 0: never seen."""
        if self._resident is not None:
            heat = self._resident.pools.learned()
            return [heat[layer.index, : layer.experts.n_expert] for layer, _ in self._layers]
        tables = {row.slot_class.table for _, row in self._layers}
        lasting = {table: table.uses.lasting().chance for table in tables}
        return [lasting[row.slot_class.table][row.row] for _, row in self._layers]

    def _bring(self, layer: LayerSlots, row: DeviceRow, expert: Ids, check: Callable[[], None]) -> Transfer:
        table = layer.slot_class.table
        if table.table[layer.row, expert[0]] < 0:
            self._loads.wait_all(layer.slot_class, check)  # what was streamed may be this one, or hold a slot
        if table.table[layer.row, expert[0]] < 0:
            self._loads.fetch(layer, expert, ReadReason.PROMOTE, check, lambda _: None)
        arrival = (int(expert[0]), int(table.table[layer.row, expert[0]]))
        transfer = row.bring(expert, 1, layer.slot_class.arena, [arrival])
        self._statistics.transferred_between(layer.index, row.slot_class.name, transfer)
        return transfer


def _hot(row: DeviceRow, weight: NDArray[np.float64]) -> Ids:
    is_hot = row.slot_class.table.pool(row.row)[None]
    may_be_hot = np.ones(is_hot.shape, np.bool_)
    return np.flatnonzero(choose_hot(weight[None], may_be_hot, is_hot, row.slot_class.hot_per_layer)[0])
