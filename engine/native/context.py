"""A llama.cpp context: KV cache, compute buffers, batches, logits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llama_cpp import llama_cpp as ll
from numpy.typing import NDArray

from engine.errors import BudgetError, Cancelled, NativeError
from engine.native import log
from engine.native.abort import set_abort_flag
from engine.native.model import NativeModel

_ABORTED, _NO_KV_SLOT = 2, 1
EvalCallback = Callable[[int, bool, object], bool]


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """`unit_tokens` is both n_batch and n_ubatch: one decode call is one pass."""

    context_tokens: int
    unit_tokens: int
    threads: int


class NativeContext:
    """Owns llama_context. `on_node` is ggml's eval callback; it must not raise."""

    def __init__(
        self, model: NativeModel, settings: ContextSettings, on_node: EvalCallback | None, flag_address: int
    ) -> None:
        params = ll.llama_context_default_params()
        params.n_ctx = settings.context_tokens
        params.n_batch = params.n_ubatch = settings.unit_tokens
        params.n_outputs_max = 1  # only the last token's logits are ever wanted: smaller compute buffers
        params.n_threads = params.n_threads_batch = settings.threads
        params.no_perf = True
        params.op_offload = False  # or experts in RAM would be copied to a device whole, past our slots
        self._callback = ll.ggml_backend_sched_eval_callback(on_node) if on_node else None
        if self._callback is not None:
            params.cb_eval = self._callback
        self.handle: Any = ll.llama_init_from_model(model.handle, params)
        if not self.handle:
            raise BudgetError(
                f"llama.cpp could not make a context of {settings.context_tokens} tokens.",
                "Choose a smaller context.",
                log.recent_faults(),
                ("context_tokens",),
            )
        self.n_vocab = int(ll.llama_vocab_n_tokens(model.vocabulary))
        self._memory = ll.llama_get_memory(self.handle)
        self._batch = ll.llama_batch_init(settings.unit_tokens, 0, 1)
        self.unit_tokens = settings.unit_tokens
        size = (settings.unit_tokens,)
        self._tokens = np.ctypeslib.as_array(self._batch.token, size)
        self._positions = np.ctypeslib.as_array(self._batch.pos, size)
        self._wanted = np.ctypeslib.as_array(self._batch.logits, size)
        np.ctypeslib.as_array(self._batch.n_seq_id, size)[:] = 1
        for index in range(settings.unit_tokens):
            self._batch.seq_id[index][0] = 0  # one sequence, always
        self.set_abort_flag(flag_address)

    def set_abort_flag(self, flag_address: int) -> None:
        """From now on the C string at this address, once not empty, stops a running decode."""
        set_abort_flag(self.handle, flag_address)

    @property
    def context_tokens(self) -> int:
        return int(ll.llama_n_ctx(self.handle))

    def decode(self, tokens: Sequence[int], position: int, wants_logits: bool) -> None:
        """One pass of at most `unit_tokens` tokens. Raises Cancelled when aborted, NativeError otherwise."""
        batch = self._batch
        batch.n_tokens = count = len(tokens)
        assert 0 < count <= self.unit_tokens, "a pass is one unit"
        self._tokens[:count] = tokens
        self._positions[:count] = np.arange(position, position + count)
        self._wanted[:count] = 0
        self._wanted[count - 1] = wants_logits
        status = ll.llama_decode(self.handle, batch)
        if status == _ABORTED:
            raise Cancelled
        if status == _NO_KV_SLOT:
            raise NativeError(
                "The context is full.", "Start a new conversation or load with a larger context."
            )
        if status:
            raise NativeError(f"llama.cpp failed to compute (status {status}).", "", log.recent_faults())

    def wait(self) -> None:
        """Until everything that devices have been asked for is done, logits included."""
        ll.llama_synchronize(self.handle)

    def logits(self) -> NDArray[np.float32]:
        """Copy of the last token's logits, shape (n_vocab,)."""
        pointer = ll.llama_get_logits_ith(self.handle, -1)
        if not pointer:
            raise NativeError("llama.cpp has no logits.", "Evaluate a token first.")
        return np.ctypeslib.as_array(pointer, (self.n_vocab,)).copy()

    def cut(self, n_tokens: int) -> bool:
        """Forget everything from position `n_tokens` on; False if this kind of memory can't be cut."""
        if n_tokens == 0:
            ll.llama_memory_clear(self._memory, False)
            return True
        return bool(ll.llama_memory_seq_rm(self._memory, 0, n_tokens, -1))

    def close(self) -> None:
        """Free batch and context; idempotent."""
        if self.handle:
            ll.llama_batch_free(self._batch)
            ll.llama_free(self.handle)
            self.handle = None
