"""The measured process of `bench` running our backend."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.backends.base import CancelToken
from engine.backends.llama_cpp import LlamaCppBackend
from engine.cli.bench_records import BenchTask, PassCosts
from engine.config import LoadSettings, Routing


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
        )
        info = self._backend.load(settings, lambda _: None, self._token).info
        self.unit_tokens, self.expert_bytes = info.unit_tokens, info.expert_bytes
        self.budget_bytes: int | None = info.ram_budget_bytes
        self.notes = info.notes

    def evaluate(self, tokens: list[int], position: int, is_prefill: bool) -> NDArray[np.float32]:
        self._backend.evaluate(tokens, position, is_prefill, self._token)
        return self._backend.logits()

    def clear(self) -> None:
        self._backend.keep_prefix(0)

    def costs(self) -> PassCosts:
        now = self._backend.counters()
        dense_bytes = now.bytes_by_reason.get("dense", 0)
        return PassCosts(
            bytes_read=now.bytes_read,
            disk_wait_ns=now.disk_wait_ns,
            disk_busy_ns=now.disk_busy_ns,
            callback_ns=now.callback_ns,
            expert_requests=now.expert_requests,
            experts_from_disk=now.expert_misses + now.expert_streamed_used,
            expert_bytes_read=now.bytes_read - dense_bytes,
        )

    def close(self) -> None:
        self._backend.unload()
