"""The real backend: stock llama.cpp computing from expert slots.

The engine thread owns everything here. Mechanism: DESIGN section 3; loading is in `slot_loading`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.backends.base import (
    CancelToken,
    LoadReport,
    LoadResult,
    Sampler,
    WarmUpReport,
    WarmUpResult,
)
from engine.backends.live_changes import adjust
from engine.backends.loaded import Loaded
from engine.backends.slot_loading import load_model
from engine.config import LoadSettings, SamplingSettings
from engine.errors import DeviceLostError, StateError
from engine.events import Counters, ExpertsSampled, LayersSampled
from engine.model_facts import ModelInfo
from engine.native.last_breath import on_abort
from engine.native.sampler import NativeSampler
from engine.native.vocabulary import Vocabulary
from engine.telemetry.last_words import LastWords


class LlamaCppBackend:
    """InferenceBackend over llama.cpp; one model at a time."""

    def __init__(self, last_words_path: Path | None = None) -> None:
        """`last_words_path`: where to leave word if llama.cpp ends the process, see telemetry.last_words."""
        self._last_words_path = last_words_path
        self._loaded: Loaded | None = None
        self._vocabulary: Vocabulary | None = None
        self._cached_tokens = 0
        self._cancel = CancelToken()  # the native abort flag points into it, so it must stay referenced

    def load(
        self, settings: LoadSettings, report: Callable[[LoadReport], None], cancel: CancelToken
    ) -> LoadResult:
        """Load a model; see the protocol."""
        self.unload()
        self._leave_word(settings)
        self._loaded = load_model(settings, report, cancel, self._cancel)
        self._vocabulary = Vocabulary(self._loaded.model.vocabulary)
        self._cached_tokens = 0
        return self._loaded.result

    def adjust(self, wanted: LoadSettings, cancel: CancelToken) -> ModelInfo:
        """Go on with other settings; see the protocol."""
        return adjust(self._model, wanted, cancel)

    def _leave_word(self, settings: LoadSettings) -> None:
        path, name = self._last_words_path, settings.path.name
        if path is not None:
            on_abort(lambda words, log: LastWords(words, log, settings.devices, name).write(path))

    def unload(self) -> None:
        """Free everything; idempotent."""
        loaded, self._loaded = self._loaded, None
        self._vocabulary = None
        if loaded is not None:
            loaded.close()

    def chat_template(self) -> str | None:
        return self._model.model.chat_template()

    def special_text(self, name: str) -> str:
        return self._words.special_text(name)

    def tokenize(self, text: str, add_special: bool, parse_special: bool) -> list[int]:
        return self._words.tokenize(text, add_special, parse_special)

    def token_bytes(self, token: int) -> bytes:
        return self._words.token_bytes(token)

    def is_end_token(self, token: int) -> bool:
        return self._words.is_end_token(token)

    def keep_prefix(self, n_tokens: int) -> int:
        """Drop KV entries from position `n_tokens` on; 0 if this kind of memory can't be cut there."""
        if n_tokens < self._cached_tokens:
            context = self._model.context
            self._cached_tokens = n_tokens if context.cut(n_tokens) else 0
            if self._cached_tokens == 0:
                context.cut(0)
        return self._cached_tokens

    def evaluate(self, tokens: Sequence[int], position: int, is_prefill: bool, cancel: CancelToken) -> None:
        """Run tokens through all layers, one unit per pass; see the protocol."""
        loaded = self._model
        if position != self._cached_tokens:
            raise StateError(f"The KV cache holds {self._cached_tokens} tokens, not {position}.")
        self._cancel = cancel
        loaded.context.set_abort_flag(cancel.address)
        loaded.devices.stop_when(lambda: cancel.is_cancelled)
        unit = loaded.result.info.unit_tokens
        try:
            for start in range(0, len(tokens), unit):
                cancel.check()
                piece = tokens[start : start + unit]
                is_last = start + unit >= len(tokens)
                self._pass(piece, position + start, is_prefill, is_last, cancel)
        except BaseException:
            self.keep_prefix(position)
            raise

    def _pass(
        self, tokens: Sequence[int], position: int, is_prefill: bool, wants_logits: bool, cancel: CancelToken
    ) -> None:
        loaded = self._model
        pipeline = loaded.pipeline
        started_ns = time.perf_counter_ns()
        self._cached_tokens = position + len(tokens)  # even if it fails: what the cache may now hold
        loaded.statistics.begin_pass(len(tokens), is_prefill)
        if pipeline is not None:
            pipeline.begin_pass(len(tokens), is_prefill, cancel.check)
        try:
            loaded.context.decode(tokens, position, wants_logits)
            if loaded.devices.devices:
                loaded.context.wait()  # a device that is lost meanwhile would give logits of zeros
        finally:
            if pipeline is not None:
                pipeline.end_pass()
                if pipeline.error is not None:
                    raise pipeline.error  # the cause; the decode's own status only follows from it
            loaded.devices.check()
        loaded.statistics.add_time(time.perf_counter_ns() - started_ns)

    def logits(self) -> NDArray[np.float32]:
        return self._model.context.logits()

    def open_sampler(self, settings: SamplingSettings, prompt: Sequence[int]) -> Sampler:
        return NativeSampler(self._model.context, settings, prompt)

    def warm_up(self, report: Callable[[WarmUpReport], None], cancel: CancelToken) -> WarmUpResult:
        """Bring the likeliest experts into memory; touches no KV entry."""
        cancel.check()
        return self._model.warm_up(report, cancel)

    def set_layer_listener(self, listener: Callable[[int, int], None] | None) -> None:
        """Called after each expert layer is routed, on the engine thread; see the protocol."""
        if self._model.pipeline is not None:
            self._model.pipeline.on_layer = listener

    def device_fault(self) -> DeviceLostError | None:
        return self._loaded.devices.fault if self._loaded is not None else None

    def counters(self) -> Counters:
        return self._model.counters()

    def experts(self) -> ExpertsSampled | None:
        return self._model.experts()

    def layers(self) -> LayersSampled | None:
        return self._model.layer_costs()

    @property
    def _model(self) -> Loaded:
        if self._loaded is None:
            raise StateError("No model is loaded.", "Open a model first.")
        return self._loaded

    @property
    def _words(self) -> Vocabulary:
        if self._vocabulary is None:
            raise StateError("No model is loaded.", "Open a model first.")
        return self._vocabulary
