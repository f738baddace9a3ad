"""Policies a simulated cache of experts can follow, and Belady's optimum, which sees the future.

All share `slots` among all layers. A step's experts are needed together: none of them may push out another
one of the same step.
"""

from __future__ import annotations

import heapq
from collections import Counter, OrderedDict
from typing import Protocol

import numpy as np

from engine.placement.placement_plan import SlotClassSpec, hot_per_layer
from engine.placement.promotion import PromotionClock
from engine.placement.routing_trace import RoutingTrace, TraceStep
from engine.placement.slot_table import SlotTable

NEVER = np.iinfo(np.int64).max


class CachePolicy(Protocol):
    """One simulated run; `step` is called for every step in order."""

    def step(self, step: TraceStep) -> int:
        """Take the step's experts in; returns how many were missing."""


class Lru:
    """Evicts what was used longest ago."""

    def __init__(self, trace: RoutingTrace, slots: int) -> None:
        self._slots, self._n_expert = slots, trace.n_expert
        self._held: OrderedDict[int, None] = OrderedDict()

    def step(self, step: TraceStep) -> int:
        return self.take(_items(step, self._n_expert))

    def take(self, items: list[int]) -> int:
        """The items of one step; returns how many were missing."""
        for item in items:
            if item in self._held:
                self._held.move_to_end(item)
        missing = [item for item in items if item not in self._held]
        for item in missing:
            if len(self._held) >= self._slots:
                self._held.popitem(last=False)
            self._held[item] = None
        return len(missing)


class RankedItems:
    """Items held, with the one of the least key found fast; keys may change at any time."""

    def __init__(self) -> None:
        self._keys: dict[int, tuple[int, int]] = {}
        self._heap: list[tuple[tuple[int, int], int]] = []

    def __contains__(self, item: int) -> bool:
        return item in self._keys

    def __len__(self) -> int:
        return len(self._keys)

    def put(self, item: int, key: tuple[int, int]) -> None:
        """Hold the item, or change its key."""
        self._keys[item] = key
        heapq.heappush(self._heap, (key, item))

    def drop_least(self, protected: set[int]) -> None:
        """Forget the item of the least key that isn't protected."""
        passed_over = []
        while True:
            entry = heapq.heappop(self._heap)
            key, item = entry
            if self._keys.get(item) != key:
                continue  # an old key
            if item not in protected:
                break
            passed_over.append(entry)
        del self._keys[item]
        for entry in passed_over:
            heapq.heappush(self._heap, entry)


class Lfu:
    """Evicts what was used least often so far; among equals what was used longest ago."""

    def __init__(self, trace: RoutingTrace, slots: int) -> None:
        self._slots, self._n_expert = slots, trace.n_expert
        self._held = RankedItems()
        self._uses: Counter[int] = Counter()
        self._clock = 0

    def step(self, step: TraceStep) -> int:
        items = _items(step, self._n_expert)
        self._clock += 1
        self._uses.update(items)
        missing = [item for item in items if item not in self._held]
        for _ in range(len(self._held) + len(missing) - self._slots):
            self._held.drop_least(set(items))
        for item in items:
            self._held.put(item, (self._uses[item], self._clock))
        return len(missing)


class FixedPool:
    """The experts used most in the whole run keep their slots; the rest pass through a window (LRU).

    It knows the run's statistics beforehand: the bound of any policy that pins by average use.
    """

    def __init__(self, trace: RoutingTrace, slots: int) -> None:
        self._n_expert = trace.n_expert
        uses = Counter(item for step in trace.steps for item in _items(step, trace.n_expert))
        window = min(slots, max((len(step.experts) for step in trace.steps), default=0))
        self._fixed = {item for item, _ in uses.most_common(slots - window)}
        self._seen: set[int] = set()
        self._window = Lru(trace, window)

    def step(self, step: TraceStep) -> int:
        items = _items(step, self._n_expert)
        fixed = {item for item in items if item in self._fixed}
        fresh = fixed - self._seen
        self._seen |= fresh
        rest = [item for item in items if item not in fixed]
        return len(fresh) + self._window.take(rest)


class Ours:
    """What the engine does with exact routing: SlotTable, which evicts what is likely needed last.

    Never the hot experts, chosen at the end of passes.
    """

    def __init__(self, trace: RoutingTrace, slots: int, hot: int | None = None) -> None:
        """`hot`: experts of each layer in the hot zone, None: as many as the engine would choose."""
        need = max((len(step.experts) for step in trace.steps), default=1)
        spec = SlotClassSpec(tuple(range(trace.n_row)), trace.n_expert, slot_bytes=1)
        hot = hot_per_layer(spec, slots, need, hot)
        self._table = SlotTable(trace.n_row, trace.n_expert, slots, trace.top_k, hot_per_row=hot)
        self._promotions = PromotionClock()
        self._last: TraceStep | None = None

    def step(self, step: TraceStep) -> int:
        self._end_pass_before(step)
        self._table.observe(step.row, step.experts, step.picks, step.n_tokens)
        moves = self._table.prepare(step.row, step.experts, step.n_tokens)
        assert moves is not None, "nothing is in flight"
        self._table.complete(step.row, moves.missing)
        return len(moves.missing)

    def _end_pass_before(self, step: TraceStep) -> None:
        last, self._last = self._last, step
        is_end = last is not None and last.pass_number != step.pass_number
        if last is not None and is_end and self._promotions.is_due(last.is_prefill):
            self._table.promote(self._table.uses.lasting().chance, self._table.n_slots)


class Belady:
    """Evicts what is needed last: no policy can miss less (Belady 1966, for items of one size)."""

    def __init__(self, trace: RoutingTrace, slots: int) -> None:
        self._slots, self._n_expert = slots, trace.n_expert
        self._next_uses = iter(_next_uses(trace))
        self._held = RankedItems()

    def step(self, step: TraceStep) -> int:
        items = _items(step, self._n_expert)
        missing = [item for item in items if item not in self._held]
        for _ in range(len(self._held) + len(missing) - self._slots):
            self._held.drop_least(set(items))
        for item, next_use in zip(items, next(self._next_uses), strict=True):
            self._held.put(item, (-next_use, 0))
        return len(missing)


def _items(step: TraceStep, n_expert: int) -> list[int]:
    return [step.row * n_expert + expert for expert in step.experts.tolist()]


def _next_uses(trace: RoutingTrace) -> list[list[int]]:
    """For each step and item the number of the next step that needs it, NEVER if none does."""
    later: dict[int, int] = {}
    found: list[list[int]] = []
    for number in range(len(trace.steps) - 1, -1, -1):
        items = _items(trace.steps[number], trace.n_expert)
        found.append([later.get(item, int(NEVER)) for item in items])
        later.update(dict.fromkeys(items, number))
    return found[::-1]
