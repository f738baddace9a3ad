"""Stock llama.cpp on the same file: what our backend is compared with, in benches and tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from llama_cpp import llama_cpp as ll
from numpy.typing import NDArray

from engine.errors import NativeError
from engine.native import log
from engine.native.buffer_types import Overrides, ProcessorMemory
from engine.native.context import ContextSettings
from engine.native.device_share import DeviceShare
from engine.native.model import EXPERT_PATTERN

_LOAD_MODE_MMAP = 1


class StockModel:
    """A model loaded as llama.cpp does by default (mapped); owned by one thread.

    `is_repacked`: let llama.cpp rewrite the weights for its fastest kernels (its default; other sums).
    `share`: layers that go to devices; their experts too, unless `are_experts_in_ram` (as --n-cpu-moe does).
    """

    def __init__(
        self,
        path: Path,
        settings: ContextSettings,
        is_repacked: bool = False,
        share: DeviceShare | None = None,
        are_experts_in_ram: bool = False,
    ) -> None:
        log.capture()
        ll.llama_backend_init()
        params = ll.llama_model_default_params()
        params.load_mode, params.use_extra_bufts = _LOAD_MODE_MMAP, is_repacked
        in_ram = Overrides([(EXPERT_PATTERN, ProcessorMemory())] if are_experts_in_ram else [])
        params.tensor_buft_overrides = in_ram.address
        self._kept = ((share or DeviceShare()).write(params), in_ram)
        self._model: Any = ll.llama_model_load_from_file(str(path).encode(), params)
        if not self._model:
            raise NativeError(f"llama.cpp could not load {path.name}.", "", log.recent_faults())
        self._unit_tokens = settings.unit_tokens
        self._context = self._open_context(settings)
        self.n_vocab = int(ll.llama_vocab_n_tokens(ll.llama_model_get_vocab(self._model)))

    def _open_context(self, settings: ContextSettings) -> Any:  # noqa: ANN401 - an opaque pointer
        params = ll.llama_context_default_params()
        params.n_ctx = settings.context_tokens
        params.n_batch = params.n_ubatch = settings.unit_tokens
        params.n_threads = params.n_threads_batch = settings.threads
        context = ll.llama_init_from_model(self._model, params)
        if not context:
            raise NativeError("llama.cpp could not make a context.", "", log.recent_faults())
        return context

    def evaluate(self, tokens: Sequence[int], position: int) -> NDArray[np.float32]:
        """Run tokens at `position`, unit by unit; logits of the last one, shape (n_vocab,)."""
        for start in range(0, len(tokens), self._unit_tokens):
            self._decode(tokens[start : start + self._unit_tokens], position + start)
        pointer = ll.llama_get_logits_ith(self._context, -1)
        return np.ctypeslib.as_array(pointer, (self.n_vocab,)).copy()

    def _decode(self, tokens: Sequence[int], position: int) -> None:
        batch = ll.llama_batch_init(len(tokens), 0, 1)
        batch.n_tokens = len(tokens)
        for index, token in enumerate(tokens):
            batch.token[index], batch.pos[index], batch.n_seq_id[index] = token, position + index, 1
            batch.seq_id[index][0], batch.logits[index] = 0, index == len(tokens) - 1
        status = ll.llama_decode(self._context, batch)
        ll.llama_batch_free(batch)
        if status:
            raise NativeError(f"llama.cpp failed to compute (status {status}).", "", log.recent_faults())

    def cut(self, n_tokens: int) -> None:
        """Forget everything from position `n_tokens` on."""
        ll.llama_memory_seq_rm(ll.llama_get_memory(self._context), 0, n_tokens, -1)

    def clear(self) -> None:
        """Forget all tokens."""
        ll.llama_memory_clear(ll.llama_get_memory(self._context), False)

    def close(self) -> None:
        """Free everything; idempotent."""
        if self._model:
            ll.llama_free(self._context)
            ll.llama_model_free(self._model)
            self._model = None
