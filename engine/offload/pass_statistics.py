"""Cumulative facts about passes: times, requests, uses per expert. Owned by the engine thread."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.placement.promotion import PromotionClock
from engine.placement.routing_policy import RoutingCost

_MOST_WATCHED = 1024  # layers; folding in bulk costs a tenth of folding token by token


class PassStatistics:
    """`uses[0]` prefill, `uses[1]` decode: picks per (layer, expert), shape (2, layers, experts)."""

    def __init__(self, n_layer: int, n_expert: int) -> None:
        self.uses = np.zeros((2, n_layer, n_expert), np.int64)
        self.last_use_pass = np.zeros((n_layer, n_expert), np.int64)
        self.passes = self.tokens_prefill = self.tokens_decode = 0
        self.wait_prefill_ns = self.wait_decode_ns = self.callback_ns = 0
        self.prefill_ns = self.decode_ns = 0
        self.expert_requests = self.expert_misses = 0
        self.expert_streamed = self.expert_streamed_used = 0
        self.routing_cost = RoutingCost()
        self._picked: list[tuple[int, NDArray[np.int32]]] = []
        self._watched: list[tuple[int, int, bytes]] = []  # pass, layer, ids
        self._streamed: dict[int, NDArray[np.int64]] = {}
        self._promotions = PromotionClock()
        self._n_tokens, self._is_prefill = 0, False

    def begin_pass(self, n_tokens: int, is_prefill: bool) -> None:
        """What follows up to `end_pass` belongs to a pass of `n_tokens`."""
        self._n_tokens, self._is_prefill = n_tokens, is_prefill

    def layer_done(self, layer_index: int, picked: NDArray[np.int32], callback_ns: int, wait_ns: int) -> None:
        """One layer was routed; `callback_ns` includes `wait_ns`."""
        self.callback_ns += callback_ns - wait_ns
        if self._is_prefill:
            self.wait_prefill_ns += wait_ns
            self._fold(layer_index, picked)  # a unit may take a minute: let it be seen
        else:
            self.wait_decode_ns += wait_ns
            self._picked.append((layer_index, picked))  # folding now would slow every layer of a token

    def routing_changed(self, cost: RoutingCost) -> None:
        """A policy made tokens of this pass use other experts than their router wanted."""
        self.routing_cost += cost

    def token_picked(self, layer_index: int, ids: bytes) -> None:
        """The experts (int32) that a decoded token picked and that were there: kept for `fold_watched`."""
        if ids:
            self._watched.append((self.passes + 1, layer_index, ids))

    def misses(self, layer_index: int, wanted: NDArray[np.int64], n_missing: int) -> None:
        """A layer wants these experts, `n_missing` of them neither usable nor on their way."""
        self.expert_misses += n_missing
        streamed = self._streamed.pop(layer_index, None)
        if streamed is not None:
            self.expert_streamed_used += int(np.isin(wanted, streamed, assume_unique=True).sum())

    def streamed(self, layer_index: int, experts: NDArray[np.int64]) -> None:
        """Reading of these experts began before their layer asked."""
        self.expert_streamed += len(experts)
        self._streamed[layer_index] = experts

    def add_time(self, elapsed_ns: int) -> None:
        """The pass took `elapsed_ns` and succeeded."""
        if self._is_prefill:
            self.prefill_ns += elapsed_ns
            self.tokens_prefill += self._n_tokens
        else:
            self.decode_ns += elapsed_ns
            self.tokens_decode += self._n_tokens

    def end_pass(self) -> bool:
        """Fold what is left into the totals; whether pools may be elected anew."""
        self.passes += 1
        if self._picked:
            self._fold_decode()
        if len(self._watched) >= _MOST_WATCHED:
            self.fold_watched()
        self._streamed.clear()
        return self._promotions.is_due(self._is_prefill)

    def fold_watched(self) -> None:
        """Count what `token_picked` kept; call it before reading any figure."""
        if not self._watched:
            return
        passes, layers, ids = zip(*self._watched, strict=True)
        self._watched.clear()
        experts = np.frombuffer(b"".join(ids), np.int32).reshape(len(layers), -1)
        places = np.array(layers)[:, None], experts
        np.add.at(self.uses[1], places, 1)
        np.maximum.at(self.last_use_pass, places, np.array(passes)[:, None])
        self.expert_requests += experts.size

    def _fold(self, layer_index: int, picked: NDArray[np.int32]) -> None:
        counts = np.bincount(picked.ravel(), minlength=self.uses.shape[2])
        self.uses[0, layer_index] += counts
        self.last_use_pass[layer_index, counts > 0] = self.passes + 1
        self.expert_requests += int(np.count_nonzero(counts))

    def _fold_decode(self) -> None:
        """All layers of one token at once; a router never picks an expert twice for a token."""
        layers = np.array([layer_index for layer_index, _ in self._picked])[:, None]
        experts = np.concatenate([picked for _, picked in self._picked])
        self._picked.clear()
        self.uses[0 if self._is_prefill else 1, layers, experts] += 1
        self.last_use_pass[layers, experts] = self.passes
        self.expert_requests += experts.size
