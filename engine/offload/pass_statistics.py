"""Cumulative facts about passes: times, requests, uses per expert. Owned by the engine thread."""

from __future__ import annotations

from collections import Counter
from time import perf_counter_ns
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.offload.device_slots import Transfer
from engine.offload.layer_times import PASS_END, LayerTimes
from engine.placement.promotion import PromotionClock
from engine.placement.routing_policy import RoutingCost
from engine.placement.tier import Tier

_Index = TypeVar("_Index", int, NDArray[np.int64])
_MOST_VISITS = 1024  # folding in bulk costs a tenth of folding token by token


class PassStatistics:
    """`uses[0]` prefill, `uses[1]` decode: picks per (layer, expert), shape (2, layers, experts).

    `requests_by_tier`: distinct experts that layers asked for, by where they were then. `kept_tiers`, shape
    (layers, experts): that place, for layers where nothing is ever evicted.
    """

    def __init__(self, n_layer: int, n_expert: int) -> None:
        self.uses = np.zeros((2, n_layer, n_expert), np.int64)
        self.last_use_pass = np.zeros((n_layer, n_expert), np.int64)
        self.times = LayerTimes(n_layer)
        self.row_wait_ns = [0, 0]  # prefill, decode
        self.passes = self.tokens_prefill = self.tokens_decode = 0
        self.prefill_ns = self.decode_ns = 0
        self.requests_by_tier = np.zeros(len(Tier), np.int64)
        self.kept_tiers = np.full((n_layer, n_expert), Tier.HOST_POOL, np.uint8)
        self.expert_streamed = self.expert_streamed_used = 0
        self.expert_copied_ahead = self.expert_copied_ahead_used = 0
        self.routing_cost = RoutingCost()
        self.transfer_busy_ns = 0
        self.bytes_by_link: Counter[str] = Counter()
        self._picked: list[tuple[int, NDArray[np.int32]]] = []
        # layer (below PASS_END: its complement, nothing is to be counted), ids, start and end in nanoseconds
        self._visits: list[tuple[int, bytes, int, int]] = []
        self._streamed: dict[int, NDArray[np.int64]] = {}
        self._promotions = PromotionClock()
        self._n_tokens, self._is_prefill = 0, False

    @property
    def expert_requests(self) -> int:
        """Distinct experts that layers asked for, one unit at a time."""
        return int(self.requests_by_tier.sum())

    def begin_pass(self, n_tokens: int, is_prefill: bool) -> None:
        """What follows up to `end_pass` belongs to a pass of `n_tokens`."""
        if is_prefill is not self._is_prefill:
            self.fold()
        self._n_tokens, self._is_prefill = n_tokens, is_prefill

    def layer_done(
        self, layer_index: int, picked: NDArray[np.int32], started_ns: int, disk_wait_ns: int
    ) -> None:
        """One layer was routed, from `started_ns` up to now."""
        self._visits.append((_uncounted(layer_index), b"", started_ns, perf_counter_ns()))
        self.times.waited(self._phase, layer_index, disk_wait_ns)
        if self._is_prefill:
            self._count_unit(layer_index, picked)  # a unit may take a minute: let it be seen
        else:
            self._picked.append((layer_index, picked))  # counting now would slow every layer of a token

    def layer_ranked(self, layer_index: int, started_ns: int) -> None:
        """A routing policy worked on a layer's ranking, from `started_ns` up to now."""
        self._visits.append((_uncounted(layer_index), b"", started_ns, perf_counter_ns()))

    def transferred(self, layer_index: int, link: str, transfer: Transfer) -> None:
        """A layer's visit copied experts to the device of that name."""
        self.times.transferred(self._phase, layer_index, transfer.wait_ns)
        self.transfer_busy_ns += transfer.busy_ns
        self.bytes_by_link[link] += transfer.n_bytes

    def transferred_between(self, layer_index: int, link: str, transfer: Transfer) -> None:
        """Outside a layer's visit its experts were copied to the device of that name."""
        self.times.transfer_wait_ns[self._phase, layer_index] += transfer.wait_ns
        self.transfer_busy_ns += transfer.busy_ns
        self.bytes_by_link[link] += transfer.n_bytes

    def copied_ahead(self, n_experts: int, n_used: int) -> None:
        """So many experts were copied before their layer asked; it then asked for `n_used` of them."""
        self.expert_copied_ahead += n_experts
        self.expert_copied_ahead_used += n_used

    def token_picked(self, layer_index: int, ids: bytes, started_ns: int) -> None:
        """The experts (int32) that a decoded token picked and that were there: kept for `fold`."""
        if ids:
            self._visits.append((layer_index, ids, started_ns, perf_counter_ns()))

    def waited_for_rows(self, wait_ns: int) -> None:
        """The pass stood still for rows of a table; a layer that was routed before did not compute then."""
        self.row_wait_ns[self._phase] += wait_ns
        last = self._visits[-1][0] if self._visits else PASS_END
        if last != PASS_END:
            self.times.compute_ns[self._phase, max(last, _uncounted(last))] -= wait_ns

    def waited_for_members(self, layer_index: int, wait_ns: int) -> None:
        """Before its first layer the pass stood still for experts of this one, which must be there."""
        self.times.disk_wait_ns[self._phase, layer_index] += wait_ns

    def routing_changed(self, cost: RoutingCost) -> None:
        """A policy made tokens of this pass use other experts than their router wanted."""
        self.routing_cost += cost

    def asked(self, tiers: NDArray[np.uint8]) -> None:
        """A layer asks for distinct experts that are in these tiers."""
        self.requests_by_tier += np.bincount(tiers, minlength=len(Tier))

    def asked_kept(self, layer_index: int, picked: NDArray[np.int32]) -> None:
        """A layer where nothing is ever evicted asks for these experts, each perhaps several times."""
        self.asked(self.kept_tiers[layer_index, np.unique(picked)])

    def label_kept(self, layer_index: int, tiers: NDArray[np.uint8]) -> None:
        """Where a layer's experts are from now on, if nothing of it is ever evicted; call `fold` before."""
        self.kept_tiers[layer_index, : len(tiers)] = np.where(tiers == Tier.HOT, Tier.HOT, Tier.HOST_POOL)

    def misses(self, layer_index: int, wanted: NDArray[np.int64], n_missing: int) -> None:
        """A layer wants these experts, `n_missing` of them neither usable nor on their way."""
        self.times.misses[self._phase, layer_index] += n_missing
        streamed = self._streamed.pop(layer_index, None)
        if streamed is not None:
            self.expert_streamed_used += int(np.isin(wanted, streamed, assume_unique=True).sum())

    def streamed(self, layer_index: int, experts: NDArray[np.int64]) -> None:
        """Reading of these experts began before their layer asked."""
        self.expert_streamed += len(experts)
        self._streamed[layer_index] = experts

    def withdrawn(self, n_experts: int) -> None:
        """So many of the streamed experts were called off before their reading began."""
        self.expert_streamed -= n_experts

    def add_time(self, elapsed_ns: int) -> None:
        """The pass took `elapsed_ns` and succeeded."""
        if self._is_prefill:
            self.prefill_ns += elapsed_ns
            self.tokens_prefill += self._n_tokens
        else:
            self.decode_ns += elapsed_ns
            self.tokens_decode += self._n_tokens

    def end_pass(self) -> bool:
        """Count what the pass left to count; whether pools may be elected anew."""
        now_ns = perf_counter_ns()
        self._visits.append((PASS_END, b"", now_ns, now_ns))
        self.passes += 1
        if self._picked:
            self._count_token()
        if len(self._visits) >= _MOST_VISITS:
            self.fold()
        self._streamed.clear()
        return self._promotions.is_due(self._is_prefill)

    def fold(self) -> None:
        """Bring the arrays up to date; call it before reading any figure."""
        visits = self._visits
        if not visits:
            return
        # the last layer may still compute: it stays, as a visit of no length
        last, _, _, last_ns = visits[-1]
        self._visits = [] if last == PASS_END else [(min(last, _uncounted(last)), b"", last_ns, last_ns)]
        places, ids, *times = zip(*visits, strict=True)
        marks = np.fromiter(places, np.int64, len(visits))
        started_ns, ended_ns = (np.fromiter(each, np.int64, len(visits)) for each in times)
        layers = np.where(marks < PASS_END, _uncounted(marks), marks)
        self.times.visited(self._phase, layers, started_ns, ended_ns)
        self._count_watched(marks, ids)

    @property
    def _phase(self) -> int:
        return 0 if self._is_prefill else 1

    def _count_watched(self, marks: NDArray[np.int64], ids: tuple[bytes, ...]) -> None:
        is_watched = marks > PASS_END
        watched = marks[is_watched, None]
        if not len(watched):
            return
        ends_before = np.cumsum(marks == PASS_END)
        passes = self.passes + 1 - (ends_before[-1] - ends_before[is_watched, None])
        places = watched, np.frombuffer(b"".join(ids), np.int32).reshape(len(watched), -1)
        np.add.at(self.uses[1], places, 1)
        np.maximum.at(self.last_use_pass, places, passes)
        self.asked(self.kept_tiers[places].ravel())

    def _count_unit(self, layer_index: int, picked: NDArray[np.int32]) -> None:
        counts = np.bincount(picked.ravel(), minlength=self.uses.shape[2])
        self.uses[0, layer_index] += counts
        self.last_use_pass[layer_index, counts > 0] = self.passes + 1

    def _count_token(self) -> None:
        """All layers of one token at once; a router never picks an expert twice for a token."""
        layers = np.array([layer_index for layer_index, _ in self._picked])[:, None]
        experts = np.concatenate([picked for _, picked in self._picked])
        self._picked.clear()
        self.uses[0 if self._is_prefill else 1, layers, experts] += 1
        self.last_use_pass[layers, experts] = self.passes


def _uncounted(layer_index: _Index) -> _Index:
    """Its own inverse; below PASS_END for a layer."""
    return PASS_END - 1 - layer_index
