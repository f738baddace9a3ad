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

from engine.placement.hot_zone import choose_hot
from engine.placement.tier import Tier
from engine.placement.use_estimate import KnownUse, UseEstimate

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Moves:
    """`missing` experts go to `slots`; `awaited` experts are already on their way."""

    missing: Ids
    slots: Ids
    awaited: Ids


@dataclass(frozen=True, slots=True)
class Relocation:
    """The bytes of `row`'s expert in `slot` go to `zone_slot`, and what `other_row` has there comes back.

    `other_row` None: the slot in the zone was free, now the other one is.
    """

    row: int
    slot: int
    zone_slot: int
    other_row: int | None


class SlotTable:
    """Slots of one class. `table[row, expert]` is the slot of a usable expert, or -1.

    The first `zone_slots` are the hot zone, `hot_per_row` for each row; experts that `promote` put there are
    never victims. With a slot for every expert, expert e of row r always gets slot r * n_expert + e, and hot
    is a mere label.
    """

    def __init__(
        self,
        n_row: int,
        n_expert: int,
        n_slots: int,
        top_k: int,
        known: KnownUse | None = None,
        hot_per_row: int = 0,
    ) -> None:
        """`known`: from an earlier session, see UseEstimate."""
        self.n_row, self.n_expert, self.n_slots, self.hot_per_row = n_row, n_expert, n_slots, hot_per_row
        self.is_complete = n_slots >= n_row * n_expert  # a slot for every expert: each has its own for good
        self.zone_slots = 0 if self.is_complete else hot_per_row * n_row
        self.table = np.full((n_row, n_expert), -1, np.int32)
        self.evictions = 0
        # where nothing is evicted: a byte per expert, 1 if usable; plain bytes for the hot path of a token
        self.present = [bytearray(n_expert) for _ in range(n_row)] if self.is_complete else []
        self._pending = np.full((n_row, n_expert), -1, np.int32)  # assigned, bytes on their way
        self._owner = np.full(n_slots, -1, np.int64)  # row * n_expert + expert
        self._is_pool = np.zeros(n_slots, np.bool_)
        self._is_hot = np.zeros(n_slots, np.bool_)
        self._is_loading = np.zeros(n_slots, np.bool_)
        self._top_k = top_k
        self.uses = UseEstimate(n_row, n_expert, top_k, known)

    # --- a layer in flight ------------------------------------------------------------------

    def observe(self, row: int, experts: Ids, picks: Ids, n_tokens: int) -> None:
        """The layer in flight uses these distinct experts, each for `picks` of its `n_tokens`."""
        if not self.is_complete:
            self.uses.observe(row, experts, picks, n_tokens)

    def prepare(self, row: int, wanted: Ids, n_tokens: int) -> Moves | None:
        """Assign slots to the distinct experts `wanted` by the layer in flight and lease them all.

        Victims are those needed last, as far as `observe` tells, in passes of `n_tokens`; never one of
        `wanted`. None: too few slots can be had until loads in flight end; nothing has changed then. With no
        load in flight the planner's unit makes that impossible.
        """
        pending = self._pending[row, wanted]
        usable = self.table[row, wanted]
        missing = wanted[(usable < 0) & (pending < 0)]
        leased = np.concatenate((usable[usable >= 0], pending[pending >= 0]))
        slots = (
            self._own(row, missing)
            if self.is_complete
            else self._victims(row, len(missing), leased, n_tokens)
        )
        if slots is None:
            return None
        self._assign(row, missing, slots)
        return Moves(missing, slots, wanted[pending >= 0])

    def absent(self, row: int) -> NDArray[np.bool_]:
        """Which experts of the row are neither usable nor on their way."""
        is_absent: NDArray[np.bool_] = (self.table[row] < 0) & (self._pending[row] < 0)
        return is_absent

    def prepare_stream(
        self,
        row: int,
        experts: Ids,
        chance: NDArray[np.float64],
        current_row: int,
        leased: Ids,
        n_tokens: int,
    ) -> Moves:
        """Assign slots to as many of `experts`, absent ones, likeliest first, as can be had for less.

        Takes free slots, then slots of experts that are likely needed later than the one that comes, which a
        token picks with `chance`; `leased` slots belong to the layer in flight, `current_row`.
        """
        is_absent = self.absent(row)[experts]
        experts, chance = experts[is_absent], chance[is_absent]
        if self.is_complete:
            slots = self._own(row, experts)
            self._assign(row, experts, slots)
            return Moves(experts, slots, experts[:0])
        free = self._free()[: len(experts)]
        coming, chance = experts[len(free) :], chance[len(free) :]
        slots = np.concatenate((free, self._later(row, coming, chance, current_row, leased, n_tokens)))
        experts = experts[: len(slots)]
        self._assign(row, experts, slots)
        return Moves(experts, slots, experts[:0])

    @property
    def n_free(self) -> int:
        """Slots that hold nothing and expect nothing."""
        return int(np.count_nonzero(self._owner < 0))

    def complete(self, row: int, experts: Ids) -> None:
        """The bytes of these experts are in their slots."""
        slots = self._pending[row, experts]
        self._pending[row, experts] = -1
        self.table[row, experts] = slots
        self._is_loading[slots] = False
        if self.is_complete:
            for expert in experts.tolist():
                self.present[row][expert] = 1

    def abort(self, row: int, experts: Ids) -> None:
        """These experts will not come; their slots are free."""
        slots = self._pending[row, experts]
        self._pending[row, experts] = -1
        self._is_loading[slots] = False
        self._owner[slots] = -1

    # --- between passes ---------------------------------------------------------------------

    def pool(self, row: int) -> NDArray[np.bool_]:
        """Which experts of the row `set_pool` named and still have their slot."""
        slots = self.table[row]
        is_pool: NDArray[np.bool_] = (slots >= 0) & self._is_pool[slots]
        return is_pool

    def set_pool(self, row: int, experts: Ids) -> None:
        """Exactly these experts of the row keep their slots; all of them have one. Only labels change.

        Others aren't hot any more.
        """
        if self.is_complete:
            return
        is_own = (self._owner >= 0) & (self._owner // self.n_expert == row)
        self._is_pool[is_own] = False
        self._is_pool[self.table[row, experts]] = True
        self._is_hot &= ~is_own | self._is_pool

    def set_hot(self, hot_per_row: int) -> None:
        """Another size of the hot zone; who was hot and is in it stays so until `promote` says otherwise."""
        self.hot_per_row = hot_per_row
        self.zone_slots = 0 if self.is_complete else hot_per_row * self.n_row
        if not hot_per_row:
            self._is_hot[:] = False
        elif not self.is_complete:
            self._is_hot[self.zone_slots :] = False

    def forget_uses(self, known: KnownUse | None) -> None:
        """Estimate uses anew from what is `known`; slots keep their experts."""
        self.uses = UseEstimate(self.n_row, self.n_expert, self._top_k, known)

    def promote(self, weight: NDArray[np.float64], most_moves: int) -> list[Relocation]:
        """Make the experts of the most `weight` (rows, experts) hot; bytes must follow at once, in order.

        Of a named pool only members can be hot. At most `most_moves` experts go to the zone; the next call
        goes on. Experts on their way, and slots they go to, are left alone.
        """
        is_here = self.table >= 0
        may_be_hot = is_here & self._is_pool[self.table] if self._is_pool.any() else is_here
        is_hot = is_here & self._is_hot[self.table]
        owners = np.flatnonzero(choose_hot(weight, may_be_hot, is_hot, self.hot_per_row))
        slots = self.table.ravel()[owners]
        is_inside = slots < (self.n_slots if self.is_complete else self.zone_slots)
        self._is_hot[:] = False
        self._is_hot[slots[is_inside]] = True
        outside = owners[~is_inside]
        outside = outside[np.argsort(-weight.ravel()[outside], kind="stable")][:most_moves]
        zone = slice(self.zone_slots)
        places = np.flatnonzero(~self._is_hot[zone] & ~self._is_loading[zone])
        places = places[np.argsort(self._owner[places] >= 0, kind="stable")]  # free ones first
        return [self._relocate(*pair) for pair in zip(outside.tolist(), places.tolist(), strict=False)]

    def _relocate(self, owner: int, zone_slot: int) -> Relocation:
        table = self.table.ravel()
        slot, other = int(table[owner]), int(self._owner[zone_slot])
        table[owner] = zone_slot
        if other >= 0:
            table[other] = slot
        self._owner[[slot, zone_slot]] = other, owner
        self._is_pool[[slot, zone_slot]] = self._is_pool[[zone_slot, slot]]
        self._is_hot[zone_slot] = True
        other_row = other // self.n_expert if other >= 0 else None
        return Relocation(owner // self.n_expert, slot, zone_slot, other_row)

    def tiers(self, pool_size: int, rows: slice = slice(None)) -> NDArray[np.uint8]:
        """Tier of every expert, shape (rows, experts); cheap enough for the row of the layer in flight.

        The pool of a row are the experts that `set_pool` named; without that the hot ones and the most used
        others, `pool_size` in all.
        """
        table = self.table[rows]
        is_here = table >= 0
        is_hot = is_here & self._is_hot[table]
        if self.is_complete:
            is_pool = is_here
        elif self._is_pool.any():
            is_pool = self._is_pool[table]
        else:
            chance = self.uses.chance[rows] + 2 * is_hot
            is_pool = self._is_among_best(is_here, chance, pool_size)
        tiers = is_here.astype(np.uint8) * np.uint8(Tier.HOST_WINDOW)
        tiers[is_here & is_pool] = Tier.HOST_POOL
        tiers[is_hot] = Tier.HOT
        return tiers

    def _is_among_best(
        self, is_here: NDArray[np.bool_], chance: NDArray[np.float64], count: int
    ) -> NDArray[np.bool_]:
        """The `count` likeliest of those that are here, in each row."""
        is_best = np.zeros(is_here.shape, np.bool_)
        if count:
            key = np.where(is_here, -chance, 1.0)
            best = np.argpartition(key, min(count, self.n_expert) - 1, axis=1)[:, :count]
            is_best[np.arange(len(best))[:, None], best] = True
        return is_best

    # --- choosing slots ---------------------------------------------------------------------

    def _own(self, row: int, experts: Ids) -> Ids:
        return row * self.n_expert + experts

    def _free(self) -> Ids:
        return np.flatnonzero(self._owner < 0)

    def _window(self, leased: Ids) -> Ids:
        mask = (self._owner >= 0) & ~self._is_pool & ~self._is_hot & ~self._is_loading
        mask[leased] = False
        return np.flatnonzero(mask)

    def _victims(self, row: int, count: int, leased: Ids, n_tokens: int) -> Ids | None:
        free = self._free()
        if len(free) >= count:
            return free[:count]
        window = self._window(leased)
        short = count - len(free)
        if len(window) < short:
            return self._with_pools(free, window, row, leased, count, n_tokens)
        wait = self.uses.expected_wait(self._owner[window], row, n_tokens)
        return np.concatenate((free, window[np.argpartition(-wait, short - 1)[:short]]))

    def _later(
        self,
        row: int,
        experts: Ids,
        chance: NDArray[np.float64],
        current_row: int,
        leased: Ids,
        n_tokens: int,
    ) -> Ids:
        """Slots for the first of `experts`: the later a victim is needed, the likelier who comes."""
        if not len(experts):
            return experts
        window = self._window(leased)
        wait = self.uses.expected_wait(self._owner[window], current_row, n_tokens)
        order = np.argsort(-wait, kind="stable")[: len(experts)]
        best = slice(len(order))
        own_wait = self.uses.expected_wait(self._own(row, experts[best]), current_row, n_tokens, chance[best])
        is_later = wait[order] > own_wait
        return window[order[: len(order) if is_later.all() else int(is_later.argmin())]]

    def _with_pools(
        self, free: Ids, window: Ids, row: int, leased: Ids, count: int, n_tokens: int
    ) -> Ids | None:
        """Last resort before giving up: pools, needed last first; correctness outranks their promise.

        Never the hot ones: the plan leaves enough beside them for any layer.
        """
        mask = self._is_pool & ~self._is_hot & ~self._is_loading
        mask[leased] = False
        pool = np.flatnonzero(mask)
        wait = self.uses.expected_wait(self._owner[pool], row, n_tokens)
        slots = np.concatenate((free, window, pool[np.argsort(-wait, kind="stable")]))[:count]
        return slots if len(slots) == count else None

    def _assign(self, row: int, experts: Ids, slots: Ids) -> None:
        owners = self._owner[slots]
        evicted = owners[owners >= 0]
        self.table.ravel()[evicted] = -1
        self.evictions += len(evicted)
        self._is_pool[slots] = False
        self._owner[slots] = row * self.n_expert + experts
        self._pending[row, experts] = slots
        self._is_loading[slots] = True
