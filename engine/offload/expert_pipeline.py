"""The layer in flight: sees the router's choice, brings the experts, replaces ids by slot numbers.

Runs inside ggml's eval callback on the engine thread. Exceptions never reach C: the first one is kept in
`error`, the pass is aborted, and the backend raises it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from engine.errors import EngineError
from engine.gguf.expert_layout import LayerExperts
from engine.native import tensor
from engine.native.tensor import OP, WORDS
from engine.offload.graph_probe import GraphProbe
from engine.offload.pass_statistics import PassStatistics
from engine.offload.read_job import ReadJob, ReadReason
from engine.offload.reader_pool import ReaderPool
from engine.offload.resident_routing import ResidentRouting
from engine.offload.slot_arena import SlotArena
from engine.placement.placement_plan import ClassPlan
from engine.placement.routing_trace import RoutingRecorder
from engine.placement.slot_table import Ids, SlotTable
from engine.placement.streaming import UseForecast
from engine.placement.warm_up import warm_up_experts


@dataclass(slots=True, eq=False)
class SlotClass:
    """Mutable state of one class; owned by the engine thread. `jobs`: loads not yet collected."""

    plan: ClassPlan
    arena: SlotArena
    table: SlotTable
    forecast: UseForecast
    jobs: dict[tuple[int, int], ReadJob]


@dataclass(frozen=True, slots=True, eq=False)
class LayerSlots:
    """One MoE layer: its place in the model (`index`), in its class (`row`), and its bias tables in RAM.

    `present`: the row's bytes of `SlotTable.present`, or None where experts can be evicted.
    """

    index: int
    row: int
    experts: LayerExperts
    slot_class: SlotClass
    bias_addresses: tuple[int, ...]
    present: bytearray | None


def routing_node(layer: int) -> bytes:
    """Name of the node whose second operand are the ids of the experts a layer picked."""
    return b"ffn_moe_weights-%d" % layer


def _advance(on_expert: Callable[[int, int], None], before: int, total: int, n_done: int) -> None:
    on_expert(before + n_done, total)


class ExpertPipeline:
    """Routing through slots; `on_fault`, given with the layers, must make the running graph stop.

    Exact unless `resident` is set.
    """

    def __init__(self, readers: ReaderPool, is_prefetch_on: bool) -> None:
        self.resident: ResidentRouting | None = None  # set before the first pass
        self.error: BaseException | None = None
        self.on_layer: Callable[[int, int], None] | None = None
        self.recorder: RoutingRecorder | None = None  # set before the first pass to record
        self.probe: GraphProbe | None = None  # set for one pass that is aborted before it computes
        self._routing_operation = -1
        self._readers = readers
        self._is_prefetch_on = is_prefetch_on
        self._layers: list[LayerSlots] = []
        self._by_node: dict[bytes, LayerSlots] = {}
        self._classes: list[SlotClass] = []
        self._statistics = PassStatistics(0, 0)
        self._on_fault: Callable[[], None] = lambda: None
        self._check: Callable[[], None] = lambda: None
        self._is_prefill = self._is_watching = self._is_election_due = False
        self._has_all_members = False
        self._n_tokens = 0

    def attach(
        self, layers: list[LayerSlots], statistics: PassStatistics, on_fault: Callable[[], None]
    ) -> None:
        """Give the pipeline its layers, in order; the context that calls `on_node` exists before them."""
        self._layers, self._statistics, self._on_fault = layers, statistics, on_fault
        self._by_node = {routing_node(layer.experts.layer): layer for layer in layers}
        self._classes = list({id(layer.slot_class): layer.slot_class for layer in layers}.values())

    def finish_probe(self, architecture: str) -> None:
        """After the probe's pass: raises UnsupportedModelError if slots can't cover the graph."""
        probe, self.probe = self.probe, None
        assert probe is not None, "a probe pass came before"
        probe.check(architecture)
        self._routing_operation = probe.routing_operation
        if self.resident is not None:
            probe.check_rankings(architecture)
            self.resident.operation = probe.ranking_operation

    # --- passes (engine thread, outside the graph) ----------------------------------------------

    def begin_pass(self, n_tokens: int, is_prefill: bool, check: Callable[[], None]) -> None:
        """Before a decode call; `check` raises to stop while waiting for the disk."""
        self.error, self._check = None, check
        if self.resident is not None:
            self._elect_if_due(is_prefill, n_tokens)
        self._n_tokens, self._is_prefill = n_tokens, is_prefill
        is_plain = self.recorder is None and self.resident is None
        self._is_watching = n_tokens == 1 and not is_prefill and is_plain

    def end_pass(self) -> None:
        """After a decode call, failed or not: account for it; after a failure no read is in flight."""
        if self.error is not None:
            self._readers.drop_queued()
            for slot_class in self._classes:
                self._settle_all(slot_class)
        self._is_election_due |= self._statistics.end_pass()

    def _elect_if_due(self, is_prefill: bool, n_tokens: int) -> None:
        """Pools change between passes only, and a prompt is one pass however many units it has."""
        assert self.resident is not None
        if self._is_election_due and not is_prefill:
            self._is_election_due = False
            self._has_all_members &= not self.resident.pools.elect()
        if not self._has_all_members:
            self.load_members(self._check)
        self.resident.pools.count_tokens(n_tokens)

    def load_members(
        self,
        check: Callable[[], None],
        on_expert: Callable[[int, int], None] = lambda done, total: None,
        reason: ReadReason = ReadReason.PROMOTE,
    ) -> None:
        """Bring every member of the resident pools into a slot; outside passes.

        `on_expert(done, experts)` now and then; `check` raises to stop. Raises DiskReadError.
        """
        assert self.resident is not None
        self._has_all_members = False  # until it is so: after a fault the next pass tries again
        members = self.resident.pools.members
        wanted = [
            np.flatnonzero(members[layer.index, : layer.slot_class.table.n_expert]) for layer in self._layers
        ]
        self._fill(wanted, reason, check, on_expert)
        self._has_all_members = True

    def warm_up(self, check: Callable[[], None], on_expert: Callable[[int, int], None]) -> None:
        """Bring the experts into memory that will likely be wanted; outside passes.

        Resident routing: pools are elected among all experts, unless they are fixed. Exact routing: all
        slots go to the likeliest experts. `on_expert(done, experts)` now and then; `check` raises to stop,
        what has come by then stays. Raises DiskReadError.
        """
        for slot_class in self._classes:  # what was streamed for the last pass may still be on its way
            self._readers.wait(list(slot_class.jobs.values()), check)
            self._settle_all(slot_class)
        if self.resident is not None:
            if not self.resident.pools.is_fixed:
                self.resident.pools.elect(from_all=True)
                self._is_election_due = False
            self.load_members(check, on_expert, ReadReason.WARM_UP)
            return
        best = {
            id(each): warm_up_experts(each.table.uses.chance, each.table.n_slots) for each in self._classes
        }
        try:
            wanted = [best[id(layer.slot_class)][layer.row] for layer in self._layers]
            self._fill(wanted, ReadReason.WARM_UP, check, on_expert)
        finally:
            for layer in self._layers:  # slots that nobody may evict would starve the layer in flight
                layer.slot_class.table.set_pool(layer.row, np.empty(0, np.int64))

    def _fill(
        self,
        wanted: list[Ids],
        reason: ReadReason,
        check: Callable[[], None],
        on_expert: Callable[[int, int], None],
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
                self._load(layer, missing, reason, check, partial(_advance, on_expert, done, total))
                done += len(missing)
            table.set_pool(layer.row, experts)

    def _load(
        self,
        layer: LayerSlots,
        missing: Ids,
        reason: ReadReason,
        check: Callable[[], None],
        on_done: Callable[[int], None],
    ) -> None:
        slot_class, row = layer.slot_class, layer.row
        moves = slot_class.table.prepare(row, missing, n_tokens=1)
        assert moves is not None, "the plan has slots for all of them"
        self._start(layer, moves.missing, moves.slots, reason)
        keys = [(row, int(expert)) for expert in moves.missing]
        jobs = [slot_class.jobs[key] for key in keys]

        def look() -> None:
            check()
            on_done(sum(job.is_done for job in jobs))

        try:
            self._readers.wait(jobs, look)
        finally:
            if not all(job.is_done for job in jobs):
                self._readers.drop_queued()
            self._settle(slot_class, row, keys)
        for job in jobs:
            if job.error is not None:
                raise job.error
        on_done(len(jobs))

    # --- the eval callback (engine thread, inside the graph) ------------------------------------

    def on_node(self, node: int, is_asking: bool, _: object) -> bool:
        """ggml's eval callback: asked for every node, then called with the ones wanted."""
        if is_asking:  # for every node of every pass: the operation rules out nearly all of them
            if WORDS[(node + OP) >> 2] == self._routing_operation:
                return tensor.name_of(node) in self._by_node
            if self.resident is not None and WORDS[(node + OP) >> 2] == self.resident.operation:
                return self.resident.knows(tensor.name_of(node))
            if self.probe is not None:
                self.probe.see(node)
            return False
        try:
            if self.error is None:
                name = tensor.name_of(node)
                if self.resident is not None and self.resident.knows(name):
                    self.resident.route(name, node)
                    return True
                layer = self._by_node[name]
                if not (self._is_watching and self._watch(layer, node)):
                    self._route(layer, node)
                return True
        except BaseException as error:  # noqa: BLE001 - must not escape into C
            self.error = error
            self._on_fault()
        return False

    def _watch(self, layer: LayerSlots, node: int) -> bool:
        """One decoded token in a layer where nothing is evicted: if its experts are there, nothing moves."""
        if layer.present is None:
            return False
        ids = tensor.first_row_bytes(tensor.source_of(node, 1))
        if not all(map(layer.present.__getitem__, memoryview(ids).cast("i"))):
            return False
        self._statistics.token_picked(layer.index, ids)
        return True

    def _route(self, layer: LayerSlots, node: int) -> None:
        started_ns = time.perf_counter_ns()
        waited_ns = 0
        ids = tensor.int32_rows(tensor.source_of(node, 1))
        if not len(ids):
            return
        row = layer.slot_class.table.table[layer.row]
        picked = ids.copy()
        if self.resident is not None:
            self._statistics.routing_changed(self.resident.cost(layer.index, picked, node))
        if self.recorder is not None:
            self.recorder.add(self._statistics.passes, layer.index, self._is_prefill, picked)
        if layer.slot_class.table.is_complete:
            # nothing is ever evicted, and the tensors see expert e's slot at index e: ids stay as they are
            if row[picked].min() < 0:
                waited_ns = self._bring(layer, picked)
        else:
            waited_ns = self._bring(layer, picked)
            ids[:] = row[picked]
        elapsed_ns = time.perf_counter_ns() - started_ns
        self._statistics.layer_done(layer.index, picked, elapsed_ns, waited_ns)
        if self.on_layer is not None:
            self.on_layer(layer.index + 1, len(self._layers))

    def _bring(self, layer: LayerSlots, picked: NDArray[np.int32]) -> int:
        """Make all picked experts usable and lease them; returns nanoseconds spent waiting."""
        slot_class, row = layer.slot_class, layer.row
        table = slot_class.table
        distinct, picks = np.unique(picked, return_counts=True)
        wanted = distinct.astype(np.int64)
        table.observe(row, wanted, picks, len(picked))
        self._collect_finished(slot_class, row)
        moves = table.prepare(row, wanted, self._n_tokens)
        waited_ns = 0
        if moves is None:
            waited_ns = self._wait(list(slot_class.jobs.values()))
            self._settle_all(slot_class)
            moves = table.prepare(row, wanted, self._n_tokens)
            if moves is None:
                raise EngineError(
                    f"Layer {layer.experts.layer} needs {len(wanted)} experts at once: more than its slots.",
                    "This is a fault of the planner; load with a smaller unit (--unit 1).",
                )
        self._start(layer, moves.missing, moves.slots, ReadReason.MISS)
        self._statistics.misses(layer.index, wanted, len(moves.missing))
        slot_class.forecast.observe(row, wanted, self._n_tokens)
        self._stream_next(layer, wanted)
        if len(moves.missing) or len(moves.awaited):
            keys = [(row, int(e)) for e in (*moves.missing, *moves.awaited)]
            jobs = [slot_class.jobs[key] for key in keys]
            if len(moves.awaited):
                self._readers.hasten(jobs[len(moves.missing) :])
            waited_ns += self._wait(jobs)
            self._settle(slot_class, row, keys)
            for job in jobs:
                if job.error is not None:
                    raise job.error
        return waited_ns

    def _stream_next(self, layer: LayerSlots, wanted: Ids) -> None:
        """Let the disk work on the next layer while this one waits and computes."""
        following = layer.index + 1
        # the last layer computes only the tokens whose logits are wanted: one, so nothing is certain there
        if not self._is_prefetch_on or not self._is_prefill or following >= len(self._layers) - 1:
            return
        if self.resident is not None:
            return  # only rank 0 can miss, and nobody knows it beforehand
        coming = self._layers[following]
        slot_class = coming.slot_class
        experts = slot_class.forecast.predict(coming.row, self._n_tokens)
        if not len(experts):
            return
        if slot_class is layer.slot_class:
            current = layer.row
            usable = slot_class.table.table[current, wanted]
            leased = usable[usable >= 0].astype(np.int64)
        else:
            current = (coming.row - 1) % slot_class.table.n_row
            leased = np.empty(0, np.int64)
        moves = slot_class.table.prepare_stream(coming.row, experts, current, leased, self._n_tokens)
        self._statistics.streamed(coming.index, moves.missing)
        self._start(coming, moves.missing, moves.slots, ReadReason.STREAM)

    def _start(self, layer: LayerSlots, experts: Ids, slots: Ids, reason: ReadReason) -> None:
        slot_class, row = layer.slot_class, layer.row
        jobs = [
            slot_class.arena.read_job(layer.experts, row, expert, slot, reason)
            for expert, slot in zip(experts.tolist(), slots.tolist(), strict=True)
        ]
        slot_class.jobs.update((job.key, job) for job in jobs)
        for index, address in enumerate(layer.bias_addresses):
            size = layer.experts.biases[index].slice_bytes
            for expert, slot in zip(experts.tolist(), slots.tolist(), strict=True):
                slot_class.arena.copy_bias(index, slot, address + expert * size, size)
        self._readers.submit(jobs)

    def _wait(self, jobs: list[ReadJob]) -> int:
        started_ns = time.perf_counter_ns()
        self._readers.wait(jobs, self._check)
        return time.perf_counter_ns() - started_ns

    def _collect_finished(self, slot_class: SlotClass, row: int) -> None:
        keys = [key for key, job in slot_class.jobs.items() if key[0] == row and job.is_done]
        self._settle(slot_class, row, keys)

    def _settle_all(self, slot_class: SlotClass) -> None:
        """All jobs of the class are done: take them out of the books."""
        for row in range(slot_class.table.n_row):
            self._settle(slot_class, row, [key for key in slot_class.jobs if key[0] == row])

    @staticmethod
    def _settle(slot_class: SlotClass, row: int, keys: list[tuple[int, int]]) -> None:
        """Take finished jobs out of the books: usable if all bytes came, else the slot is free again."""
        good: list[int] = []
        bad: list[int] = []
        for key in keys:
            job = slot_class.jobs.pop(key)
            (bad if job.error is not None else good).append(key[1])
        slot_class.table.complete(row, np.array(good, np.int64))
        slot_class.table.abort(row, np.array(bad, np.int64))
