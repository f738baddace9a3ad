"""Everything that belongs to one loaded model, and how it is taken down."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.backends.base import CancelToken, LoadResult, WarmUpReport, WarmUpResult
from engine.backends.heat_keeper import HeatKeeper
from engine.config import LoadSettings
from engine.events import Counters, ExpertsSampled, LayersSampled
from engine.model_facts import ModelInfo
from engine.native.context import NativeContext
from engine.native.devices import DeviceSet
from engine.native.model import NativeModel
from engine.offload.expert_pipeline import ExpertPipeline
from engine.offload.locked_memory import ZoneLock
from engine.offload.pass_statistics import PassStatistics
from engine.offload.read_job import ReadReason
from engine.offload.reader_pool import ReaderPool
from engine.offload.slot_layers import LayerSlots, SlotClass
from engine.placement.resident_pools import ResidentPools
from engine.placement.tier import Tier
from engine.placement.warm_up import expected_hits


@dataclass(slots=True, eq=False)
class Loaded:
    """Owned by the engine thread. `resources` closes all, readers first.

    A model without experts and without row tables has no pipeline. `settings`: what was asked for last.
    """

    settings: LoadSettings
    result: LoadResult
    lock: ZoneLock
    model: NativeModel
    context: NativeContext
    devices: DeviceSet
    readers: ReaderPool
    classes: list[SlotClass]
    layers: list[LayerSlots]
    pipeline: ExpertPipeline | None
    statistics: PassStatistics
    heat: HeatKeeper
    resources: ExitStack

    @property
    def info(self) -> ModelInfo:
        """What is in force now."""
        return self.result.info

    @property
    def pools(self) -> ResidentPools | None:
        """Of resident routing; None with exact routing."""
        resident = self.pipeline.resident if self.pipeline is not None else None
        return resident.pools if resident is not None else None

    def counters(self) -> Counters:
        """Cumulative counters since load."""
        statistics = self.statistics
        statistics.fold()
        times = statistics.times
        bytes_by_reason, busy_ns, errors = self.readers.snapshot()
        return Counters(
            prefill_tokens=statistics.tokens_prefill,
            decode_tokens=statistics.tokens_decode,
            prefill_ns=statistics.prefill_ns,
            decode_ns=statistics.decode_ns,
            disk_wait_prefill_ns=int(times.disk_wait_ns[0].sum()) + statistics.row_wait_ns[0],
            disk_wait_decode_ns=int(times.disk_wait_ns[1].sum()) + statistics.row_wait_ns[1],
            callback_ns=int(times.own_ns.sum()),
            disk_busy_ns=busy_ns,
            bytes_read=sum(bytes_by_reason.values()),
            bytes_by_reason=bytes_by_reason,
            expert_requests=statistics.expert_requests,
            expert_misses=int(times.misses.sum()),
            expert_streamed=statistics.expert_streamed,
            expert_streamed_used=statistics.expert_streamed_used,
            evictions=sum(slot_class.table.evictions for slot_class in self.classes),
            passes=statistics.passes,
            read_errors=errors,
            ranks_routed=statistics.routing_cost.ranks,
            ranks_replaced=statistics.routing_cost.replaced,
            gate_mass_wanted=statistics.routing_cost.gate_mass_wanted,
            gate_mass_used=statistics.routing_cost.gate_mass_used,
            transfer_wait_prefill_ns=int(times.transfer_wait_ns[0].sum()),
            transfer_wait_decode_ns=int(times.transfer_wait_ns[1].sum()),
            transfer_busy_ns=statistics.transfer_busy_ns,
            bytes_by_link=dict(statistics.bytes_by_link),
            expert_copied_ahead=statistics.expert_copied_ahead,
            expert_copied_ahead_used=statistics.expert_copied_ahead_used,
            requests_by_tier={t.name.lower(): int(statistics.requests_by_tier[t]) for t in Tier},
        )

    def experts(self) -> ExpertsSampled | None:
        """Per-expert detail as copies, or None for a dense model."""
        if not self.layers:
            return None
        self.statistics.fold()
        return ExpertsSampled(
            moe_layers=self._moe_layers,
            prefill_uses=self.statistics.uses[0].copy(),
            decode_uses=self.statistics.uses[1].copy(),
            tiers=self._tiers(),
            last_use_pass=self.statistics.last_use_pass.copy(),
        )

    def layer_costs(self) -> LayersSampled | None:
        """What each expert layer cost, or None for a dense model."""
        if not self.layers:
            return None
        self.statistics.fold()
        times = self.statistics.times
        return LayersSampled(
            moe_layers=self._moe_layers,
            disk_wait_ns=_phases(times.disk_wait_ns),
            transfer_wait_ns=_phases(times.transfer_wait_ns),
            own_ns=_phases(times.own_ns),
            compute_ns=_phases(times.compute_ns),
            misses=_phases(times.misses),
        )

    @property
    def _moe_layers(self) -> tuple[int, ...]:
        return tuple(layer.experts.layer for layer in self.layers)

    def _tiers(self) -> NDArray[np.uint8]:
        by_class = {each: each.table.tiers(each.plan.decode_pool) for each in self.classes}
        tiers = np.zeros(self.statistics.uses.shape[1:], np.uint8)
        for layer in self.layers:
            row = by_class[layer.slot_class][layer.row]
            tiers[layer.index, : len(row)] = row
            if layer.device is not None:
                tiers[layer.index, : len(row)][layer.slot_of >= 0] = Tier.VRAM
        return tiers

    def warm_up(self, report: Callable[[WarmUpReport], None], cancel: CancelToken) -> WarmUpResult:
        """Bring the likeliest experts into memory; see the protocol."""
        started_ns, before, loaded = time.perf_counter_ns(), self.expected_hit_rate(), [0]
        bytes_before = self._warm_up_bytes()

        def on_expert(done: int, total: int) -> None:
            loaded[0] = done
            report(WarmUpReport(done, total, self._warm_up_bytes() - bytes_before))

        if self.pipeline is not None:
            self.pipeline.filling.warm_up(cancel.check, on_expert)
            while self.pipeline.promotion.run():
                cancel.check()
            while self.pipeline.device_promotion.run(cancel.check):
                cancel.check()
        return WarmUpResult(
            experts_loaded=loaded[0],
            bytes_read=self._warm_up_bytes() - bytes_before,
            elapsed_ns=time.perf_counter_ns() - started_ns,
            expected_hit_rate_before=before,
            expected_hit_rate_after=self.expected_hit_rate(),
            is_profile_saved=self.save_heat(),
        )

    def expected_hit_rate(self) -> float:
        """Share of the experts that tokens will likely ask for that is in memory, 0 to 1; 1 without experts.

        By the estimated chances; with resident routing by the pools' heat, of what the router would want.
        """
        heat = self.pools.learned() if self.pools is not None else None
        hits = []
        for layer in self.layers:
            weight = layer.top.uses.chance[layer.top_row]
            if heat is not None:
                weight = heat[layer.index, : layer.top.n_expert]
            hits.append(expected_hits(weight[None], layer.tiers()[None] > Tier.DISK)[0])
        return float(np.mean(hits)) if hits else 1.0

    def _warm_up_bytes(self) -> int:
        return self.readers.snapshot()[0].get(ReadReason.WARM_UP, 0)

    def save_heat(self) -> bool:
        """Write the heat profile; whether it was."""
        return self.heat.save(self.layers, self.pools, self.statistics)

    def close(self) -> None:
        """Stop the readers, free the memory; idempotent."""
        self.resources.close()


def _phases(values: NDArray[np.int64]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    prefill, decode = values.tolist()
    return tuple(prefill), tuple(decode)
