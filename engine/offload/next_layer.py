"""Lets the drive work for the next layer while the one in flight waits and computes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.offload.expert_loads import ExpertLoads
from engine.offload.pass_statistics import PassStatistics
from engine.offload.read_job import ReadReason
from engine.offload.router_reading import read_state
from engine.offload.slot_layers import LayerSlots
from engine.placement.router_guess import RouterGuess
from engine.placement.slot_table import Ids
from engine.placement.streaming import StreamPace, worth_streaming


class NextLayer:
    """Owned by the engine thread. `layers` in the order of the model; without `is_on` nothing is streamed."""

    def __init__(
        self,
        layers: list[LayerSlots],
        loads: ExpertLoads,
        statistics: PassStatistics,
        guess: RouterGuess,
        is_on: bool,
    ) -> None:
        self._layers, self._loads, self._statistics, self._guess = layers, loads, statistics, guess
        self._is_on = is_on
        self._pace = StreamPace()
        self._n_tokens, self._is_prefill, self._is_resident = 0, False, False

    def begin_pass(self, n_tokens: int, is_prefill: bool, resident_ranks: int | None) -> None:
        """A unit starts; with resident routing only its first ranks can miss, so only they are guessed.

        What the first layer will likely use begins to come while everything before its router computes.
        """
        self._n_tokens, self._is_prefill = n_tokens, is_prefill
        self._is_resident = resident_ranks is not None
        self._pace.begin_pass()
        self._guess.begin_pass(is_prefill, resident_ranks)
        if self._is_on and is_prefill and not self._is_resident and len(self._layers) > 1:
            first = self._layers[0]
            likely = first.slot_class.table.uses.likely(first.row)
            self._stream(first, likely, first.absent(), self._row_before(first), _NONE)

    def reach_layer(self, layer: LayerSlots, picked: NDArray[np.int32], now_ns: int) -> None:
        """The layer's router has chosen."""
        self._pace.reach_layer(now_ns)
        self._guess.compare(layer.index, picked)

    def leave_layer(self, now_ns: int) -> None:
        """The layer's experts are there and it goes on to compute."""
        self._pace.leave_layer(now_ns)

    @property
    def compute_ns(self) -> int | None:
        """What the layer before computed for, None if this pass has not seen one yet."""
        return self._pace.compute_ns

    def after(self, layer: LayerSlots) -> LayerSlots | None:
        """The next layer, if it can be told in this pass what it will likely want."""
        following = layer.index + 1
        # a prompt's last layer computes only the tokens whose logits are wanted, so nothing is likely there
        return self._layers[following] if following < len(self._layers) - self._is_prefill else None

    def stream_after(self, layer: LayerSlots, wanted: Ids, node: int) -> None:
        """The layer in flight wants these experts, which have slots; `node`: its routing node."""
        coming = self.after(layer)
        if not self._is_on or coming is None:
            return
        is_absent = coming.absent()
        chance = self._chance(layer, coming, is_absent, node) if is_absent.any() else None
        if chance is None:
            return
        if coming.slot_class is layer.slot_class:
            usable = layer.slot_class.table.table[layer.row, wanted]
            self._stream(coming, chance, is_absent, layer.row, usable[usable >= 0].astype(np.int64))
        else:
            self._stream(coming, chance, is_absent, self._row_before(coming), _NONE)

    def _chance(
        self, layer: LayerSlots, coming: LayerSlots, is_absent: NDArray[np.bool_], node: int
    ) -> NDArray[np.float64] | None:
        """That a token picks each expert of the coming layer; None: unknown, or none of them is absent."""
        router = self._guess.router_before_guess(layer.index)
        state = read_state(node, router) if router is not None else None
        is_by_guess_only = self._is_resident or not self._is_prefill
        is_useful = state is not None and self._guess.guess_next(layer.index, state, is_absent)
        if is_by_guess_only and not is_useful:
            return None
        likely = coming.slot_class.table.uses.likely(coming.row)
        return self._guess.chance(coming.index, np.zeros_like(likely) if self._is_resident else likely)

    def _stream(
        self,
        coming: LayerSlots,
        chance: NDArray[np.float64],
        is_absent: NDArray[np.bool_],
        current_row: int,
        leased: Ids,
    ) -> None:
        slot_class = coming.slot_class
        most = self._pace.most(*self._loads.rate(), slot_class.arena.slot_bytes)
        experts = worth_streaming(chance, is_absent, self._n_tokens, most)
        if not len(experts):
            return
        moves = slot_class.table.prepare_stream(
            coming.row, experts, chance[experts], current_row, leased, self._n_tokens
        )
        self._statistics.streamed(coming.index, moves.missing)
        self._loads.start(coming, moves.missing, moves.slots, ReadReason.STREAM)

    @staticmethod
    def _row_before(coming: LayerSlots) -> int:
        return (coming.row - 1) % coming.slot_class.table.n_row


_NONE = np.empty(0, np.int64)
