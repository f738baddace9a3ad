"""Loading: inspect, map without reading, read the dense weights, make the context, hand out slots, probe."""

from __future__ import annotations

import ctypes as c
import dataclasses
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from engine.backends.base import CancelToken, LoadReport, LoadResult
from engine.backends.dense_destinations import dense_destinations
from engine.backends.device_loading import DeviceLoading
from engine.backends.graph_probing import probe_graph
from engine.backends.heat_keeper import HeatKeeper
from engine.backends.live_changes import lock_hot, open_resident
from engine.backends.load_budget import LoadBudget
from engine.backends.loaded import Loaded
from engine.backends.model_info import describe
from engine.backends.repacking import Repacking, decide_for_load
from engine.backends.row_loading import TablesMustBeRead, accept, notes, open_row_tables
from engine.backends.slot_classes import class_specs, largest_read_bytes, layer_classes, used_layers
from engine.backends.slot_opening import layer_slots, open_slot_classes, point_tensors
from engine.config import LoadSettings, usable_cores
from engine.errors import DeviceLostError
from engine.events import LoadPhase
from engine.gguf.expert_layout import ExpertLayout, LayerExperts, expert_layout
from engine.gguf.facts import ModelFacts, model_facts
from engine.gguf.model_file import ModelFile
from engine.gguf.reader import read_model
from engine.gguf.row_tables import row_tables
from engine.hardware.memory import claimed_bytes, private_bytes
from engine.model_facts import ModelInfo
from engine.native.blas_threads import use_one_blas_thread
from engine.native.context import ContextSettings, NativeContext
from engine.native.memory import keep_large_blocks_apart
from engine.native.model import NativeModel
from engine.offload.bias_store import BiasStore
from engine.offload.dense_reader import dense_read_rate, read_dense
from engine.offload.expert_pipeline import ExpertPipeline
from engine.offload.locked_memory import ZoneLock
from engine.offload.pass_statistics import PassStatistics
from engine.offload.read_job import ReadReason
from engine.offload.reader_pool import ReaderPool
from engine.offload.row_probe import RowProbe
from engine.offload.row_tables import RowTables
from engine.offload.slot_layers import LayerSlots, SlotClass
from engine.offload.slot_populator import SlotPopulator
from engine.offload.weight_files import WeightFiles
from engine.placement.placement_plan import PlacementPlan, SlotClassSpec
from engine.placement.routing_trace import RoutingRecorder
from engine.placement.tier import Tier

_RAISED_FLAG = c.create_string_buffer(b"\x01")  # an abort flag that is always up


def load_model(
    settings: LoadSettings, report: Callable[[LoadReport], None], cancel: CancelToken, idle: CancelToken
) -> Loaded:
    """Load `settings.path`; on any error or cancel nothing stays behind. `idle`: flag between evaluations."""
    use_one_blas_thread()
    whole: frozenset[str] = frozenset()  # tables that can't stay on disk, as far as is known
    while True:
        try:
            return _load(settings, report, cancel, idle, whole)
        except TablesMustBeRead as verdict:
            whole |= verdict.names


def _load(
    settings: LoadSettings,
    report: Callable[[LoadReport], None],
    cancel: CancelToken,
    idle: CancelToken,
    whole_tables: frozenset[str],
) -> Loaded:
    with ExitStack() as stack:
        loader = _Loader(settings, report, cancel, idle, stack, whole_tables)
        try:
            return loader.run()
        except Exception as error:
            fault = loader.device_fault
            if fault is None or error is fault:
                raise
            raise fault from error  # whatever llama.cpp made of it


@dataclass(frozen=True, slots=True)
class _Draft:
    """What a load goes by until there is a context."""

    budget: LoadBudget
    devices: DeviceLoading
    plan: PlacementPlan
    repacking: Repacking


@dataclass(frozen=True, slots=True)
class _Weights:
    """The mapped model with its dense weights read; `layers`: expert layers that llama.cpp uses."""

    model: NativeModel
    layers: tuple[LayerExperts, ...]
    biases: BiasStore
    readers: ReaderPool
    drive_bytes_per_second: float | None


@dataclass(frozen=True, slots=True)
class _Placed:
    """Context and slots."""

    heat: HeatKeeper
    tables: tuple[RowTables, RowProbe] | None
    pipeline: ExpertPipeline | None
    context: NativeContext
    budget: LoadBudget
    plan: PlacementPlan
    slot_classes: list[SlotClass]
    layers: list[LayerSlots]
    lock: ZoneLock
    statistics: PassStatistics


class _Loader:
    """One load; the stack closes what was opened unless the load succeeds."""

    def __init__(
        self,
        settings: LoadSettings,
        report: Callable[[LoadReport], None],
        cancel: CancelToken,
        idle: CancelToken,
        stack: ExitStack,
        whole_tables: frozenset[str],
    ) -> None:
        self._settings, self._cancel, self._idle, self._stack = settings, cancel, idle, stack
        self._send = report
        self._devices: DeviceLoading | None = None
        self._stage_bytes = 0
        self._started_ns = time.perf_counter_ns()
        self._enter(LoadPhase.INSPECT)
        self._file: ModelFile = read_model(settings.path)
        self._layout: ExpertLayout = expert_layout(self._file)
        self._facts: ModelFacts = model_facts(self._file, self._layout)
        self._whole_tables = whole_tables
        self._tables = row_tables(self._file, bool(self._layout.layers), whole_tables)

    @property
    def device_fault(self) -> DeviceLostError | None:
        """The loss of a device, if that is what went wrong."""
        return self._devices.devices.fault if self._devices is not None else None

    def run(self) -> Loaded:
        keep_large_blocks_apart()
        claimed_before = claimed_bytes()
        self._stage_bytes = largest_read_bytes(self._layout)
        draft = self._draft()
        files = WeightFiles(tuple(shard.path for shard in self._file.shards))
        self._stack.callback(files.close)
        weights = self._read_weights(draft, files)
        load_ns = time.perf_counter_ns() - self._started_ns
        placed = self._place(draft, weights)
        if placed.pipeline is not None:
            self._start(placed.pipeline, placed, weights)
        info = self._describe(draft, weights, placed, files.is_direct, claimed_before)
        initialise_ns = time.perf_counter_ns() - self._started_ns - load_ns
        loaded = Loaded(
            self._settings,
            LoadResult(info, load_ns, initialise_ns),
            placed.lock,
            weights.model,
            placed.context,
            draft.devices.devices,
            weights.readers,
            placed.slot_classes,
            placed.layers,
            placed.pipeline,
            placed.statistics,
            placed.heat,
            self._stack.pop_all(),
        )
        loaded.resources.callback(loaded.save_heat)
        return loaded

    def _draft(self) -> _Draft:
        """The plan as far as the file and the memory tell, before llama.cpp has said what a context takes."""
        budget = LoadBudget.measure(
            self._settings, self._layout, self._facts, self._stage_bytes, self._tables
        )
        classes = layer_classes(self._layout.layers)
        devices = self._devices = DeviceLoading(self._settings, self._layout, self._facts, self._stack)
        devices.devices.stop_when(lambda: self._cancel.is_cancelled)
        budget = devices.make_plan(budget)
        plan = budget.plan(class_specs(classes), devices.host_settings)
        here = devices.host_settings
        repacking = decide_for_load(here, self._file, self._layout, plan, bool(self._tables))
        if repacking.extra_dense_bytes:
            budget = budget.with_dense(repacking.extra_dense_bytes)
            plan = budget.plan(class_specs(classes), devices.host_settings)
        return _Draft(budget, devices, plan, repacking)

    def _read_weights(self, draft: _Draft, files: WeightFiles) -> _Weights:
        model = self._map(draft.devices, draft.repacking)
        layers = used_layers(self._layout, self._facts.architecture, model)
        biases = BiasStore(layers)
        self._stack.callback(biases.close)
        readers = ReaderPool(files, self._settings.reader_threads, self._stage_bytes)
        self._stack.callback(readers.close)
        self._read_dense(model, biases, readers)
        bytes_by_reason, busy_ns, _ = readers.snapshot()
        is_plain_read = files.is_direct and not model.repacked.tensors
        dense_bytes = bytes_by_reason.get(ReadReason.DENSE, 0) if is_plain_read else 0
        return _Weights(model, layers, biases, readers, dense_read_rate(dense_bytes, busy_ns))

    def _place(self, draft: _Draft, weights: _Weights) -> _Placed:
        """Context, then slots for what it left of the budget."""
        model, layers, readers = weights.model, weights.layers, weights.readers
        heat = HeatKeeper(self._settings, self._file, layers, self._layout.top_k)
        rows = draft.devices.open_slots(layers, model, heat)
        tables = open_row_tables(self._tables, model, readers, self._stack)
        pipeline = None
        if layers or tables:
            pipeline = ExpertPipeline(readers, self._settings.is_prefetch_on, draft.devices.devices)
        classes = layer_classes(layers)
        context, budget, plan = self._open_context(model, draft, class_specs(classes), pipeline)
        self._enter(LoadPhase.SLOTS)
        allocator = draft.devices.host_allocator
        slot_classes = open_slot_classes(
            classes, plan, self._layout.top_k, heat, draft.repacking, allocator, self._stack
        )
        # closed first: no thread may touch an arena that is gone
        self._stack.callback(readers.close)
        lock = lock_hot(slot_classes)
        placed = layer_slots(slot_classes, classes, weights.biases, rows)
        point_tensors(model, placed)
        statistics = PassStatistics(len(layers), max((layer.n_expert for layer in layers), default=0))
        for layer in placed:
            if layer.device is not None:
                statistics.kept_tiers[layer.index] = Tier.VRAM
        return _Placed(heat, tables, pipeline, context, budget, plan, slot_classes, placed, lock, statistics)

    def _start(self, pipeline: ExpertPipeline, placed: _Placed, weights: _Weights) -> None:
        """Connect the pipeline, check the graph, fill pools."""
        context = placed.context
        pipeline.attach(
            placed.layers,
            placed.statistics,
            open_resident(self._settings, placed.layers, placed.heat, self._layout.top_k),
            lambda: context.set_abort_flag(c.addressof(_RAISED_FLAG)),
        )
        self._probe(pipeline, weights.model, context, placed.layers, placed.tables)
        self._record(pipeline, weights.layers)
        pipeline.filling.load_members(self._cancel.check, self._report_pools)
        self._stack.callback(SlotPopulator([each.arena for each in placed.slot_classes]).close)

    def _describe(
        self, draft: _Draft, weights: _Weights, placed: _Placed, is_direct: bool, claimed_before: int
    ) -> ModelInfo:
        info = describe(
            self._settings,
            self._facts,
            placed.budget,
            placed.plan,
            placed.context.context_tokens,
            placed.budget.context.bytes_for(placed.context.unit_tokens),
            is_direct,
        )
        absent_bytes = placed.tables[0].absent_bytes if placed.tables else 0
        table_notes = notes(self._tables, self._whole_tables)
        info = dataclasses.replace(
            info,
            notes=info.notes + placed.heat.notes + placed.lock.notes + table_notes,
            locked_bytes=placed.lock.locked_bytes,
            largest_unit_tokens=placed.context.unit_tokens,
            used_bytes=draft.budget.program_bytes + claimed_bytes() - claimed_before - absent_bytes,
            drive_bytes_per_second=weights.drive_bytes_per_second,
        )
        info = draft.repacking.described(info, layer_classes(weights.layers))
        return draft.devices.describe(info, placed.layers)

    def _report_pools(self, done: int, total: int) -> None:
        self._enter(LoadPhase.SLOTS, done, total)

    def _record(self, pipeline: ExpertPipeline, layers: tuple[LayerExperts, ...]) -> None:
        """Record the routing from here on, if that is wanted; written when the model is freed."""
        path = self._settings.trace_path
        if path is None or not layers:
            return
        n_expert = max(layer.n_expert for layer in layers)
        recorder = RoutingRecorder(tuple(layer.layer for layer in layers), n_expert, self._layout.top_k)
        recorder.trace().save(path)  # now, so that a path that can't be written is known at once
        pipeline.recorder = recorder
        self._stack.callback(lambda: recorder.trace().save(path))

    def _enter(self, phase: LoadPhase, done_bytes: int = 0, total_bytes: int = 0) -> None:
        self._cancel.check()
        self._send(LoadReport(phase, done_bytes, total_bytes))

    def _map(self, devices: DeviceLoading, repacking: Repacking) -> NativeModel:
        self._enter(LoadPhase.MAP)
        is_ours = bool(self._layout.layers or self._tables)
        report = self._is_going_on if is_ours else self._report_dense
        path, is_repacking = self._file.shards[0].path, repacking.choice.is_repacked
        names = [table.tensor.name for table in self._tables]
        model = NativeModel(path, report, is_ours, is_repacking, devices.share, names)
        self._stack.callback(model.close)
        return model

    def _is_going_on(self, _: float) -> bool:
        return not self._cancel.is_cancelled

    def _report_dense(self, share: float) -> bool:
        """llama.cpp reads a model without experts and row tables itself."""
        total = self._layout.dense_bytes
        self._enter(LoadPhase.DENSE_READ, int(share * total), total)
        return True

    def _read_dense(self, model: NativeModel, biases: BiasStore, readers: ReaderPool) -> None:
        read_dense(
            [*dense_destinations(self._file, model), *biases.destinations()],
            readers,
            lambda done, total: self._enter(LoadPhase.DENSE_READ, done, total),
            self._check,
        )

    def _check(self) -> None:
        self._cancel.check()
        if self._devices is not None:
            self._devices.devices.check()

    def _open_context(
        self,
        model: NativeModel,
        draft: _Draft,
        specs: tuple[SlotClassSpec, ...],
        pipeline: ExpertPipeline | None,
    ) -> tuple[NativeContext, LoadBudget, PlacementPlan]:
        """A context for the best unit, the budget that knows what it took, and the plan for the rest.

        What a context takes is known only once it is there. Where another unit is clearly better then, it is
        made again, and after that only for smaller ones, if the experts of this one might not fit.
        """
        self._enter(LoadPhase.CONTEXT)
        before, budget, unit, is_settled = private_bytes(), draft.budget, draft.plan.unit_tokens, False
        while True:
            context = self._make_context(model, draft.budget.context_tokens, unit, pipeline)
            budget = budget.with_context(unit, private_bytes() - before)
            plan = budget.plan(specs, draft.devices.host_settings, unit, is_settled)
            if plan.unit_tokens == unit:
                self._stop_when_lost(context)
                return context, budget, plan
            context.close()
            unit, is_settled = plan.unit_tokens, True
            budget = budget.up_to(unit)
            self._cancel.check()

    def _make_context(
        self, model: NativeModel, context_tokens: int, unit_tokens: int, pipeline: ExpertPipeline | None
    ) -> NativeContext:
        settings = ContextSettings(context_tokens, unit_tokens, self._settings.threads or usable_cores())
        on_node = pipeline.on_node if pipeline else None
        context = NativeContext(model, settings, on_node, self._idle.address)
        self._stack.callback(context.close)
        return context

    def _stop_when_lost(self, context: NativeContext) -> None:
        """Let what the processor computes stop when a device is lost."""
        if self._devices is not None:
            devices = self._devices.devices
            devices.on_lost(lambda: context.set_abort_flag(c.addressof(_RAISED_FLAG)))
            self._stack.callback(devices.on_lost, lambda: None)  # before the context is gone

    def _probe(
        self,
        pipeline: ExpertPipeline,
        model: NativeModel,
        context: NativeContext,
        layers: list[LayerSlots],
        tables: tuple[RowTables, RowProbe] | None,
    ) -> None:
        self._enter(LoadPhase.FIRST_GRAPH)
        probe = tables[1] if tables else None
        probe_graph(pipeline, model, context, layers, probe, self._check, self._facts.architecture)
        if tables:
            accept(*tables, pipeline)
