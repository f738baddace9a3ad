"""The layer in flight: sees the router's choice, brings the experts, replaces ids by slot numbers.

Runs inside ggml's eval callback on the engine thread. Exceptions never reach C: the first one is kept in
`error`, the pass is aborted, and the backend raises it.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns

import numpy as np
from numpy.typing import NDArray

from engine.errors import DeviceLostError, EngineError, UnsupportedModelError
from engine.native import tensor
from engine.native.devices import DeviceSet
from engine.native.tensor import OP, WORDS
from engine.offload.copies_ahead import CopiesAhead
from engine.offload.device_promotion import DevicePromotion
from engine.offload.expert_loads import ExpertLoads
from engine.offload.graph_probe import GraphProbe
from engine.offload.hot_promotion import HotPromotion
from engine.offload.next_layer import NextLayer
from engine.offload.pass_statistics import PassStatistics
from engine.offload.pool_filling import PoolFilling
from engine.offload.read_job import ReadReason
from engine.offload.reader_pool import ReaderPool
from engine.offload.resident_routing import ResidentRouting
from engine.offload.row_tables import RowTables
from engine.offload.slot_layers import LayerSlots, SlotClass
from engine.offload.window_filling import WindowFilling
from engine.placement.router_guess import Router, RouterGuess
from engine.placement.routing_trace import RoutingRecorder
from engine.placement.slot_table import Ids, Moves


def routing_node(layer: int) -> bytes:
    """Name of the node whose second operand are the ids of the experts a layer picked."""
    return b"ffn_moe_weights-%d" % layer


class ExpertPipeline:
    """Routing through slots; `on_fault`, given with the layers, must make the running graph stop.

    Exact unless there is a `resident` policy.
    """

    def __init__(self, readers: ReaderPool, is_prefetch_on: bool, devices: DeviceSet) -> None:
        self.resident: ResidentRouting | None = None
        self.error: BaseException | None = None
        self.on_layer: Callable[[int, int], None] | None = None
        self.recorder: RoutingRecorder | None = None  # set before the first pass to record
        self.probe: GraphProbe | None = None  # set for one pass that is aborted before it computes
        self._routing_operation = self._ranking_operation = -1
        self._ranking_fault: UnsupportedModelError | None = None
        self._loads = ExpertLoads(readers)
        self._copies = CopiesAhead()
        self._is_prefetch_on, self._devices = is_prefetch_on, devices
        self._layers: list[LayerSlots] = []
        self._by_node: dict[bytes, LayerSlots] = {}
        self._classes: list[SlotClass] = []
        self._statistics = PassStatistics(0, 0)
        self._on_fault: Callable[[], None] = lambda: None
        self._check: Callable[[], None] = lambda: None
        self._is_prefill = self._is_watching = False
        self._n_tokens = 0
        self._next_layer = self._stream_with({}, 1)
        self.filling = PoolFilling([], self._loads, self._statistics, None)
        self._window = WindowFilling([], self._loads, self._statistics, None)
        self.promotion = HotPromotion([], self._statistics, None)
        self.device_promotion = DevicePromotion([], self._loads, self._statistics, None)
        self._rows: RowTables | None = None
        self._row_operation = -1

    def attach(
        self,
        layers: list[LayerSlots],
        statistics: PassStatistics,
        resident: ResidentRouting | None,
        on_fault: Callable[[], None],
    ) -> None:
        """Give the pipeline its layers, in order; the context that calls `on_node` exists before them."""
        self._layers, self._statistics, self._on_fault = layers, statistics, on_fault
        self.route_by(resident)
        self._by_node = {routing_node(layer.experts.layer): layer for layer in layers}
        self._classes = list(dict.fromkeys(layer.slot_class for layer in layers))

    def check_rankings(self) -> None:
        """Raise UnsupportedModelError if the graph doesn't show what resident routing changes."""
        if self._ranking_fault is not None:
            raise self._ranking_fault

    def route_by(self, resident: ResidentRouting | None) -> None:
        """Between passes: from now on ranks from 1 on come from these pools; None is exact routing."""
        if resident is not None:
            resident.operation = self._ranking_operation
        layers, statistics = self._layers, self._statistics
        self.resident = resident
        self.filling = PoolFilling(layers, self._loads, statistics, resident)
        self._window = WindowFilling(layers, self._loads, statistics, resident)
        self.promotion = HotPromotion(layers, statistics, resident)
        self.device_promotion = DevicePromotion(layers, self._loads, statistics, resident)

    def read_rows_of(self, rows: RowTables) -> None:
        """From the next pass on, rows of these tables come from the file; after the probe."""
        self._rows, self._row_operation = rows, rows.operation

    def finish_probe(self, architecture: str) -> None:
        """After the probe's pass: raises UnsupportedModelError if slots can't cover the graph."""
        probe, self.probe = self.probe, None
        assert probe is not None, "a probe pass came before"
        probe.restore()
        probe.check(architecture)
        self._routing_operation = probe.routing_operation
        routers = {
            layer.index: probe.routers[layer.experts.layer]
            for layer in self._layers
            if layer.experts.layer in probe.routers
        }
        self._next_layer = self._stream_with(routers, probe.top_k)
        self._ranking_operation = probe.ranking_operation
        self._ranking_fault = probe.ranking_fault(architecture)
        if self.resident is not None:
            self.check_rankings()
            self.resident.operation = self._ranking_operation

    def _stream_with(self, routers: dict[int, Router], top_k: int) -> NextLayer:
        guess = RouterGuess(routers, len(self._layers), top_k)
        return NextLayer(self._layers, self._loads, self._statistics, guess, self._is_prefetch_on)

    # --- passes (engine thread, outside the graph) ----------------------------------------------

    def begin_pass(self, n_tokens: int, is_prefill: bool, check: Callable[[], None]) -> None:
        """Before a decode call; `check` raises to stop while waiting for the disk."""
        self._devices.check()
        self.error, self._check = None, check
        self.filling.begin_pass(is_prefill, n_tokens, check)
        self._n_tokens, self._is_prefill = n_tokens, is_prefill
        self._next_layer.begin_pass(n_tokens, is_prefill, None if self.resident is None else 1)
        is_plain = self.recorder is None and self.resident is None
        self._is_watching = n_tokens == 1 and not is_prefill and is_plain

    def end_pass(self) -> None:
        """After a decode call, failed or not: account for it; after a failure no read is in flight."""
        self.error = self.error or self._devices.fault
        self._end_copies()
        if self.error is not None:
            self._loads.drop(self._classes)
        if self._rows is not None:
            self._rows.end_pass()
        is_due = self._statistics.end_pass()
        self.filling.note_election(is_due)
        if is_due and self.error is None:
            self.promotion.run()
            try:
                self.device_promotion.run(self._check)
            except BaseException as error:  # noqa: BLE001 - raised by the backend, as the pass's other faults
                self.error = error
        if self._is_prefetch_on and not self._is_prefill and self.error is None:
            self._window.run()

    def _end_copies(self) -> None:
        """Copies that began before a layer asked which then never did."""
        try:
            if self.error is None:
                for each in self._copies.finish():
                    self._statistics.transferred_between(each.layer_index, each.link, each.transfer)
                    self._statistics.copied_ahead(len(each.experts), 0)
        except DeviceLostError as error:
            self.error = error
        self._copies.drop()

    # --- the eval callback (engine thread, inside the graph) ------------------------------------

    def on_node(self, node: int, is_asking: bool, _: object) -> bool:
        """ggml's eval callback: asked for every node, then called with the ones wanted."""
        if is_asking:  # for every node of every pass: the operation rules out nearly all of them
            operation = WORDS[(node + OP) >> 2]
            if operation == self._row_operation:  # likely the routing nodes' too
                self._bring_rows(node)
            if operation == self._routing_operation:
                return tensor.name_of(node) in self._by_node
            if self.resident is not None and operation == self.resident.operation:
                return self.resident.knows(tensor.name_of(node))
            if self.probe is not None:
                self.probe.see(node)
            return False
        try:
            if self.error is None:
                name = tensor.name_of(node)
                if self.resident is not None and self.resident.knows(name):
                    started_ns = perf_counter_ns()
                    layer_index = self.resident.route(name, node)
                    self._statistics.layer_ranked(layer_index, started_ns)
                    return True
                layer = self._by_node[name]
                if not (self._is_watching and self._watch(layer, node)):
                    self._route(layer, node)
                return True
        except BaseException as error:  # noqa: BLE001 - must not escape into C
            self.error = error
            self._on_fault()
        return False

    def _bring_rows(self, node: int) -> None:
        """The node's row numbers are inputs, so its rows can be read when ggml asks about it."""
        assert self._rows is not None
        if self.error is not None:
            return
        try:
            self._statistics.waited_for_rows(self._rows.bring(node, self._check))
        except BaseException as error:  # noqa: BLE001 - must not escape into C
            self.error = error
            self._on_fault()

    def _watch(self, layer: LayerSlots, node: int) -> bool:
        """One decoded token in a layer where nothing is evicted: if its experts are there, nothing moves."""
        if layer.present is None:
            return False
        started_ns = perf_counter_ns()
        source = tensor.source_of(node, 1)
        ids = self._fetch(source).tobytes() if self._is_remote(source) else tensor.first_row_bytes(source)
        if not all(map(layer.present.__getitem__, memoryview(ids).cast("i"))):
            return False
        self._statistics.token_picked(layer.index, ids, started_ns)
        return True

    def _is_remote(self, source: int) -> bool:
        return bool(self._devices.devices) and tensor.is_on_device(source)

    def _fetch(self, source: int) -> NDArray[np.int32]:
        """Ids from a device; its graph asks no abort flag, so this is where a pass on devices stops."""
        ids = tensor.fetch_int32_rows(source)
        self._devices.check()
        self._check()
        return ids

    def _route(self, layer: LayerSlots, node: int) -> None:
        started_ns = perf_counter_ns()
        waited_ns = 0
        source = tensor.source_of(node, 1)
        is_remote = self._is_remote(source)
        ids = self._fetch(source) if is_remote else tensor.int32_rows(source)
        if not len(ids):
            return
        picked = ids.copy()
        self._next_layer.reach_layer(layer, picked, started_ns)
        if self.resident is not None:
            self._statistics.routing_changed(self.resident.cost(layer.index, picked, node))
        if self.recorder is not None:
            self.recorder.add(self._statistics.passes, layer.index, self._is_prefill, picked)
        if layer.top.is_complete:
            # nothing is ever evicted, and the tensors see expert e's slot at index e: ids stay as they are
            if layer.slot_of[picked].min() < 0:
                waited_ns = self._bring(layer, picked, node)
            else:
                self._statistics.asked_kept(layer.index, picked)
        else:
            waited_ns = self._bring(layer, picked, node)
            ids[:] = layer.slot_of[picked]
            if is_remote:
                tensor.store_rows(source, ids)
        self._copy_ahead(layer, picked)
        self._statistics.layer_done(layer.index, picked, started_ns, waited_ns)
        self._next_layer.leave_layer(perf_counter_ns())
        if self.on_layer is not None:
            self.on_layer(layer.index + 1, len(self._layers))

    def _bring(self, layer: LayerSlots, picked: NDArray[np.int32], node: int) -> int:
        """Make all picked experts usable and lease them; returns nanoseconds spent waiting for the disk."""
        slot_class, row = layer.slot_class, layer.row
        distinct, picks = np.unique(picked, return_counts=True)
        wanted = distinct.astype(np.int64)
        self._take_copies(layer, wanted)
        self._loads.collect_finished(slot_class, row)
        self._statistics.asked(layer.tiers()[wanted])
        if layer.device is None:
            return self._bring_to_host(layer, wanted, picks, len(picked), node)
        layer.device.observe(wanted, picks, len(picked))
        is_missing = layer.slot_of[wanted] < 0
        missing = wanted[is_missing]
        moves, waited_ns = self._request(layer, missing, picks[is_missing], len(picked))
        self._next_layer.stream_after(layer, wanted, node)
        arrivals = self._loads.arrivals(layer, missing, moves.missing, moves.awaited, self._check)
        transfer = layer.device.bring(wanted, self._n_tokens, slot_class.arena, arrivals)
        self._statistics.transferred(layer.index, layer.device.slot_class.name, transfer)
        return waited_ns + transfer.source_ns

    def _take_copies(self, layer: LayerSlots, wanted: Ids) -> None:
        """What was copied ahead has slots from now on; nothing may move in RAM before."""
        for each in self._copies.finish():
            self._statistics.transferred(layer.index, each.link, each.transfer)
            is_for_it = each.layer_index == layer.index
            n_used = int(np.isin(each.experts, wanted).sum()) if is_for_it else 0
            self._statistics.copied_ahead(len(each.experts), n_used)

    def _bring_to_host(self, layer: LayerSlots, wanted: Ids, picks: Ids, n_tokens: int, node: int) -> int:
        """Make these experts usable in RAM and lease them; returns nanoseconds spent waiting."""
        moves, waited_ns = self._request(layer, wanted, picks, n_tokens)
        self._next_layer.stream_after(layer, wanted, node)
        if len(moves.missing) or len(moves.awaited):
            waited_ns += self._loads.finish(layer, moves.missing, moves.awaited, self._check)
        return waited_ns

    def _request(self, layer: LayerSlots, wanted: Ids, picks: Ids, n_tokens: int) -> tuple[Moves, int]:
        """Lease slots in RAM to these experts and begin to read them; also nanoseconds waited for slots."""
        slot_class, row = layer.slot_class, layer.row
        table = slot_class.table
        table.observe(row, wanted, picks, n_tokens)
        self._statistics.withdrawn(self._loads.withdraw(layer, wanted))
        moves = table.prepare(row, wanted, self._n_tokens)
        waited_ns = 0
        if moves is None:
            waited_ns = self._loads.wait_all(slot_class, self._check)
            moves = table.prepare(row, wanted, self._n_tokens)
            if moves is None:
                raise EngineError(
                    f"Layer {layer.experts.layer} needs {len(wanted)} experts at once: more than its slots.",
                    "This is a fault of the planner; load with a prompt unit of 1.",
                    settings=("unit_tokens",),
                )
        self._loads.start(layer, moves.missing, moves.slots, ReadReason.MISS)
        self._statistics.misses(layer.index, wanted, len(moves.missing))
        return moves, waited_ns

    def _copy_ahead(self, layer: LayerSlots, picked: NDArray[np.int32]) -> None:
        """Begin to send to its device what the next layer will likely want."""
        coming = self._next_layer.after(layer)
        if coming is not None and coming.device is not None:
            compute_ns = self._next_layer.compute_ns
            self._copies.begin(layer, picked.astype(np.int64), coming, self._n_tokens, compute_ns)
