"""The measured process of `bench` running stock llama.cpp."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.backends.stock import StockModel
from engine.cli.bench_records import BenchTask, PassCosts
from engine.cli.process_figures import block_bytes_read
from engine.gguf.expert_layout import expert_layout
from engine.gguf.reader import read_model
from engine.native.context import ContextSettings


class BenchSide:
    """Stock llama.cpp, mapped, with the same arithmetic as ours; loaded when made."""

    expert_bytes = 0
    budget_bytes: int | None = None
    notes: tuple[str, ...] = ()

    def __init__(self, task: BenchTask) -> None:
        self.unit_tokens = task.unit_tokens or task.prompt_tokens
        settings = ContextSettings(task.context_tokens, self.unit_tokens, task.threads)
        path = Path(task.path)
        # our backend leaves models without experts to llama.cpp, which repacks them
        is_repacked = not expert_layout(read_model(path)).layers
        self._model = StockModel(path, settings, is_repacked)

    def evaluate(self, tokens: list[int], position: int, is_prefill: bool) -> NDArray[np.float32]:
        return self._model.evaluate(tokens, position)

    def clear(self) -> None:
        self._model.clear()

    def costs(self) -> PassCosts:
        return PassCosts(bytes_read=block_bytes_read())

    def close(self) -> None:
        self._model.close()
