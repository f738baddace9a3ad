"""The measured process of `bench` running stock llama.cpp."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.backends.stock import StockModel
from engine.cli.bench_records import BenchTask, PassCosts
from engine.cli.process_figures import block_bytes_read
from engine.config import Repack
from engine.native.context import ContextSettings
from engine.native.device_share import DeviceShare
from engine.native.devices import DeviceSet

_ALL_LAYERS = 999


class BenchSide:
    """Stock llama.cpp, mapped; loaded when made.

    With devices, dense weights and KV cache are there and experts in RAM, as its --n-cpu-moe does.
    """

    expert_bytes = 0
    budget_bytes: int | None = None
    notes: tuple[str, ...] = ()

    def __init__(self, task: BenchTask) -> None:
        self.placement: dict[str, object] = {}
        self.unit_tokens = task.unit_tokens or task.prompt_tokens
        settings = ContextSettings(task.context_tokens, self.unit_tokens, task.threads)
        self.is_repacked = task.repack == Repack.ON
        self._devices = DeviceSet(task.devices)
        there = tuple(self._devices.devices)
        share = DeviceShare(there, (1,) * (len(there) - 1) + (_ALL_LAYERS,)) if there else None
        path, in_ram = Path(task.path), bool(there)
        self._model = StockModel(path, settings, self.is_repacked, share, are_experts_in_ram=in_ram)

    def evaluate(self, tokens: list[int], position: int, is_prefill: bool) -> NDArray[np.float32]:
        return self._model.evaluate(tokens, position)

    def clear(self) -> None:
        self._model.clear()

    def costs(self) -> PassCosts:
        return PassCosts(bytes_read=block_bytes_read())

    def note_residency(self) -> None: ...

    def needed_bytes(self) -> None:
        """Not known: the system pages weights in behind its back."""

    def close(self) -> None:
        self._model.close()
        self._devices.close()
