"""Promotion: at the end of a pass, the most used experts of each layer move into the hot zone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.offload.pass_statistics import PassStatistics
from engine.offload.resident_routing import ResidentRouting
from engine.offload.slot_layers import LayerSlots, SlotClass, layers_by_class

_MOST_BYTES = 16 << 20  # per class and promotion: a few milliseconds; one expert is always allowed


class HotPromotion:
    """Owned by the engine thread; runs between passes only. `resident`: None with exact routing."""

    def __init__(
        self, layers: list[LayerSlots], statistics: PassStatistics, resident: ResidentRouting | None
    ) -> None:
        self._statistics, self._resident = statistics, resident
        self._classes = layers_by_class(layers)

    def run(self) -> bool:
        """Bring hot zones up to date, within bounds; whether anything moved. No layer is in flight."""
        has_moved = [self._promote(layers) for layers in self._classes]
        return any(has_moved)

    def _promote(self, layers: list[LayerSlots]) -> bool:
        slot_class = layers[0].slot_class
        table, arena = slot_class.table, slot_class.arena
        if not table.hot_per_row:
            return False
        moves = table.promote(self._weight(slot_class, layers), max(1, _MOST_BYTES // arena.slot_bytes))
        for move in moves:
            other = None if move.other_row is None else layers[move.other_row].experts
            arena.relocate(layers[move.row].experts, move.slot, move.zone_slot, other)
        self._label(layers)
        return bool(moves)

    def label_all(self) -> None:
        """After hot zones were resized: tell the statistics who is hot, where nothing is ever evicted."""
        self._statistics.fold()
        for layers in self._classes:
            self._label(layers)

    def _label(self, layers: list[LayerSlots]) -> None:
        slot_class = layers[0].slot_class
        if not slot_class.table.is_complete:
            return
        tiers = slot_class.table.tiers(slot_class.plan.decode_pool)
        for layer in layers:
            if layer.device is None:
                self._statistics.label_kept(layer.index, tiers[layer.row])

    def _weight(self, slot_class: SlotClass, layers: list[LayerSlots]) -> NDArray[np.float64]:
        """How often experts are used, shape (rows, experts), by whatever is counted there."""
        table = slot_class.table
        indexes = [layer.index for layer in layers]
        if self._resident is not None:
            heat: NDArray[np.float64] = self._resident.pools.learned()[indexes, : table.n_expert]
            return heat
        if table.is_complete:  # nothing is evicted there, so nothing is estimated
            self._statistics.fold()
            uses = self._statistics.uses[:, indexes, : table.n_expert].sum(axis=0)
            return np.asarray(uses, np.float64)
        return table.uses.lasting().chance
