"""Which expert is in which slot: the residency decisions of one slot class, without touching a byte.

Moves have two phases: `prepare` assigns slots and leases them, then every assigned expert is either
`complete`d (its bytes are there) or `abort`ed (the slot is free again). Owned by the engine thread.

Rows are the layers of the class in order. All ids are numpy arrays; nothing is done per expert in Python
unless it moves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.placement.tier import Tier

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Moves:
    """`missing` experts go to `slots`; `awaited` experts are already on their way."""

    missing: Ids
    slots: Ids
    awaited: Ids


class SlotTable:
    """Slots of one class. `table[row, expert]` is the slot of a usable expert, or -1.

    With a slot for every expert, expert e of row r always gets slot r * n_expert + e.
    """

    def __init__(self, n_row: int, n_expert: int, n_slots: int) -> None:
        self.n_row, self.n_expert, self.n_slots = n_row, n_expert, n_slots
        self.is_complete = n_slots >= n_row * n_expert  # a slot for every expert: each has its own for good
        self.table = np.full((n_row, n_expert), -1, np.int32)
        self.evictions = 0
        # where nothing is evicted: a byte per expert, 1 if usable; plain bytes for the hot path of a token
        self.present = [bytearray(n_expert) for _ in range(n_row)] if self.is_complete else []
        self._pending = np.full((n_row, n_expert), -1, np.int32)  # assigned, bytes on their way
        self._owner = np.full(n_slots, -1, np.int64)  # row * n_expert + expert
        self._is_pool = np.zeros(n_slots, np.bool_)
        self._is_loading = np.zeros(n_slots, np.bool_)
        self._stamp = np.zeros(n_slots, np.int64)
        self._clock = 0
        self._pool_limit = 0
        self._pool_count = np.zeros(n_row, np.int64)
        self._heat = np.zeros((n_row, n_expert), np.float64)

    # --- a layer in flight ------------------------------------------------------------------

    def touch(self, slots: Ids | NDArray[np.int32]) -> None:
        """Mark slots as just used."""
        self._clock += 1
        self._stamp[slots] = self._clock

    def prepare(self, row: int, wanted: Ids, is_prefill: bool) -> Moves | None:
        """Assign slots to the distinct experts `wanted` by the layer in flight and lease them all.

        Never evicts one of `wanted`. None: too few slots can be had until loads in flight end; nothing
        has changed then. With no load in flight the planner's unit makes that impossible.
        """
        pending = self._pending[row, wanted]
        usable = self.table[row, wanted]
        missing = wanted[(usable < 0) & (pending < 0)]
        leased = np.concatenate((usable[usable >= 0], pending[pending >= 0]))
        slots = (
            self._own(row, missing)
            if self.is_complete
            else self._victims(row, len(missing), leased, is_prefill)
        )
        if slots is None:
            return None
        self._assign(row, missing, slots)
        self.touch(np.concatenate((leased, slots)))
        return Moves(missing, slots, wanted[pending >= 0])

    def prepare_stream(self, row: int, experts: Ids, current_row: int, leased: Ids) -> Moves:
        """Assign slots to as many of `experts` of the coming layer `row` as can be had for less.

        Takes free slots and window slots of layers that are needed later than `row`; `leased` slots belong
        to the layer in flight.
        """
        experts = experts[(self.table[row, experts] < 0) & (self._pending[row, experts] < 0)]
        experts = experts[np.argsort(-self._heat[row, experts], kind="stable")]
        if self.is_complete:
            slots = self._own(row, experts)
            self._assign(row, experts, slots)
            return Moves(experts, slots, experts[:0])
        candidates = self._window(leased)
        distance = self._distance(current_row)
        near = distance[row]
        candidates = candidates[distance[self._owner[candidates] // self.n_expert] > near]
        key = self._prefill_key(candidates, current_row)
        slots = np.concatenate((self._free(), candidates[np.argsort(key, kind="stable")]))[: len(experts)]
        experts = experts[: len(slots)]
        self._assign(row, experts, slots)
        return Moves(experts, slots, experts[:0])

    def complete(self, row: int, experts: Ids) -> None:
        """The bytes of these experts are in their slots."""
        slots = self._pending[row, experts]
        self._pending[row, experts] = -1
        self.table[row, experts] = slots
        self._is_loading[slots] = False
        if self.is_complete:
            for expert in experts.tolist():
                self.present[row][expert] = 1
            return
        room = max(0, self._pool_limit - int(self._pool_count[row]))
        self._is_pool[slots[:room]] = True
        self._pool_count[row] += min(room, len(slots))

    def abort(self, row: int, experts: Ids) -> None:
        """These experts will not come; their slots are free."""
        slots = self._pending[row, experts]
        self._pending[row, experts] = -1
        self._is_loading[slots] = False
        self._owner[slots] = -1

    # --- between passes ---------------------------------------------------------------------

    def promote(self, pool_limit: int, heat: NDArray[np.float64]) -> None:
        """Let the hottest usable experts of each row be its pool; only labels change, no bytes move.

        `heat`: shape (rows, experts); kept for ordering streams until the next call.
        """
        self._pool_limit, self._heat = pool_limit, heat
        self._is_pool[:] = False
        for row in range(self.n_row):
            usable = np.flatnonzero(self.table[row] >= 0)
            if len(usable) > pool_limit:
                order = np.argpartition(-heat[row, usable], pool_limit - 1) if pool_limit else usable[:0]
                usable = usable[order[:pool_limit]]
            self._is_pool[self.table[row, usable]] = True
            self._pool_count[row] = len(usable)

    def set_pool(self, row: int, experts: Ids) -> None:
        """Exactly these experts of the row are its pool; all of them have a slot. Only labels change."""
        if self.is_complete:
            return
        self._pool_limit = 0  # what is loaded from now on passes through the window
        owned = self._owner // self.n_expert == row
        self._is_pool[owned & (self._owner >= 0)] = False
        self._is_pool[self.table[row, experts]] = True
        self._pool_count[row] = len(experts)

    def tiers(self) -> NDArray[np.uint8]:
        """Tier of every expert, shape (rows, experts)."""
        if self.is_complete:
            return np.where(self.table < 0, Tier.DISK, Tier.HOST_POOL).astype(np.uint8)
        tiers = np.where(self._is_pool[self.table], Tier.HOST_POOL, Tier.HOST_WINDOW).astype(np.uint8)
        tiers[self.table < 0] = Tier.DISK
        return tiers

    # --- choosing slots ---------------------------------------------------------------------

    def _own(self, row: int, experts: Ids) -> Ids:
        return row * self.n_expert + experts

    def _free(self) -> Ids:
        return np.flatnonzero(self._owner < 0)

    def _window(self, leased: Ids) -> Ids:
        mask = (self._owner >= 0) & ~self._is_pool & ~self._is_loading
        mask[leased] = False
        return np.flatnonzero(mask)

    def _distance(self, current_row: int) -> Ids:
        """Layers until each row is needed again, in a sweep that is now at `current_row`."""
        distance = (np.arange(self.n_row) - current_row) % self.n_row
        distance[current_row] = self.n_row
        return distance

    def _prefill_key(self, slots: Ids, current_row: int) -> Ids:
        """Ascending: needed last first (a sweep larger than memory must not evict what comes next)."""
        distance = self._distance(current_row)[self._owner[slots] // self.n_expert]
        return self._stamp[slots] - (distance << 40)

    def _victims(self, row: int, count: int, leased: Ids, is_prefill: bool) -> Ids | None:
        free = self._free()
        if len(free) >= count:
            return free[:count]
        window = self._window(leased)
        key = self._prefill_key(window, row) if is_prefill else self._stamp[window]
        short = count - len(free)
        if len(window) < short:
            return self._with_foreign_pools(free, window, row, leased, count)
        best = window[np.argpartition(key, short - 1)[:short]]
        return np.concatenate((free, best))

    def _with_foreign_pools(self, free: Ids, window: Ids, row: int, leased: Ids, count: int) -> Ids | None:
        """Last resort before giving up: pools, coldest first; correctness outranks their promise."""
        mask = self._is_pool & ~self._is_loading
        mask[leased] = False
        pool = np.flatnonzero(mask)
        pool = pool[np.argsort(self._heat.ravel()[self._owner[pool]], kind="stable")]
        slots = np.concatenate((free, window, pool))[:count]
        return slots if len(slots) == count else None

    def _assign(self, row: int, experts: Ids, slots: Ids) -> None:
        owners = self._owner[slots]
        evicted = owners[owners >= 0]
        self.table.ravel()[evicted] = -1
        self.evictions += len(evicted)
        pooled = slots[self._is_pool[slots]]
        np.subtract.at(self._pool_count, self._owner[pooled] // self.n_expert, 1)
        self._is_pool[slots] = False
        self._owner[slots] = row * self.n_expert + experts
        self._pending[row, experts] = slots
        self._is_loading[slots] = True
