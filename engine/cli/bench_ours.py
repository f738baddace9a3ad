"""The measured process of `bench` running our backend."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.backends.base import CancelToken
from engine.backends.llama_cpp import LlamaCppBackend
from engine.cli.bench_limits import missing_bytes
from engine.cli.bench_records import BenchTask, PassCosts
from engine.config import LoadSettings, Repack, Routing
from engine.events import ExpertsSampled
from engine.gguf.expert_layout import expert_layout
from engine.gguf.reader import read_model


class BenchSide:
    """Our backend; loaded when made."""

    def __init__(self, task: BenchTask) -> None:
        self._token = CancelToken()
        self._backend = LlamaCppBackend()
        settings = LoadSettings(
            path=Path(task.path),
            ram_budget_bytes=task.budget_bytes,
            context_tokens=task.context_tokens,
            unit_tokens=task.unit_tokens,
            threads=task.threads,
            is_prefetch_on=task.is_prefetch_on,
            routing=Routing(task.routing),
            pool_per_layer=task.pool_per_layer,
            is_pool_fixed=task.is_pool_fixed,
            hot_per_layer=task.hot_per_layer,
            repack=Repack(task.repack),
            devices=task.devices,
            vram_budget_bytes=task.vram_budget_bytes,
        )
        info = self._backend.load(settings, lambda _: None, self._token).info
        self._layer_bytes = {
            layer.layer: layer.expert_bytes for layer in expert_layout(read_model(settings.path)).layers
        }
        self._before: tuple[ExpertsSampled | None, int] = (None, 0)
        self.unit_tokens, self.expert_bytes = info.unit_tokens, info.expert_bytes
        self.budget_bytes: int | None = info.ram_budget_bytes
        self.is_repacked = info.is_repacked
        self.notes = info.notes
        self.placement: dict[str, object] = {
            "slot_classes": [asdict(each) for each in info.slot_classes],
            "locked_bytes": info.locked_bytes,
            "devices": [asdict(each) for each in info.devices],
            "repack_reason": info.repack_reason,
        }

    def evaluate(self, tokens: list[int], position: int, is_prefill: bool) -> NDArray[np.float32]:
        self._backend.evaluate(tokens, position, is_prefill, self._token)
        return self._backend.logits()

    def clear(self) -> None:
        self._backend.keep_prefix(0)

    def costs(self) -> PassCosts:
        now, experts = self._backend.counters(), self._backend.experts()
        dense_bytes, row_bytes = (now.bytes_by_reason.get(reason, 0) for reason in ("dense", "row"))
        return PassCosts(
            bytes_read=now.bytes_read,
            disk_wait_ns=now.disk_wait_ns,
            disk_busy_ns=now.disk_busy_ns,
            transfer_wait_ns=now.transfer_wait_ns,
            callback_ns=now.callback_ns,
            expert_requests=now.expert_requests,
            experts_from_disk=now.expert_misses + now.expert_streamed_used,
            expert_bytes_read=now.bytes_read - dense_bytes - row_bytes,
            row_bytes_read=row_bytes,
            picks=0 if experts is None else int(experts.prefill_uses.sum() + experts.decode_uses.sum()),
        )

    def note_residency(self) -> None:
        self._before = self._backend.experts(), self.costs().row_bytes_read or 0

    def needed_bytes(self) -> int:
        before, rows_before = self._before
        rows = (self.costs().row_bytes_read or 0) - rows_before
        after = self._backend.experts()
        if before is None or after is None:
            return rows
        return rows + missing_bytes(before, after, self._layer_bytes)

    def close(self) -> None:
        self._backend.unload()
