"""One backend that loads real models and, on request, the simulated one, so the engine lives on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.backends.base import (
    CancelToken,
    InferenceBackend,
    LoadReport,
    LoadResult,
    Sampler,
    WarmUpReport,
    WarmUpResult,
)
from engine.config import LoadSettings, SamplingSettings
from engine.errors import DeviceLostError, StateError
from engine.events import Counters, ExpertsSampled, LayersSampled
from engine.model_facts import ModelInfo

# no file name: a real file is always given with its absolute path
SIMULATED_PATH = Path("simulated run")


class ChosenBackend:
    """An InferenceBackend that hands everything to the backend chosen by the last load."""

    def __init__(
        self, real: Callable[[], InferenceBackend], simulated: Callable[[], InferenceBackend]
    ) -> None:
        """The factories run on the engine thread, at the first load that needs them."""
        self._factories = {False: real, True: simulated}
        self._backends: dict[bool, InferenceBackend] = {}
        self._current: InferenceBackend | None = None

    def load(
        self, settings: LoadSettings, report: Callable[[LoadReport], None], cancel: CancelToken
    ) -> LoadResult:
        """Free what the other backend holds, then load."""
        self.unload()
        is_simulated = settings.path == SIMULATED_PATH
        if is_simulated not in self._backends:
            self._backends[is_simulated] = self._factories[is_simulated]()
        self._current = self._backends[is_simulated]
        return self._current.load(settings, report, cancel)

    def adjust(self, wanted: LoadSettings, cancel: CancelToken) -> ModelInfo:
        return self._chosen.adjust(wanted, cancel)

    def unload(self) -> None:
        if self._current is not None:
            self._current.unload()

    def chat_template(self) -> str | None:
        return self._chosen.chat_template()

    def special_text(self, name: str) -> str:
        return self._chosen.special_text(name)

    def tokenize(self, text: str, add_special: bool, parse_special: bool) -> list[int]:
        return self._chosen.tokenize(text, add_special, parse_special)

    def token_bytes(self, token: int) -> bytes:
        return self._chosen.token_bytes(token)

    def is_end_token(self, token: int) -> bool:
        return self._chosen.is_end_token(token)

    def keep_prefix(self, n_tokens: int) -> int:
        return self._chosen.keep_prefix(n_tokens)

    def evaluate(self, tokens: Sequence[int], position: int, is_prefill: bool, cancel: CancelToken) -> None:
        self._chosen.evaluate(tokens, position, is_prefill, cancel)

    def warm_up(self, report: Callable[[WarmUpReport], None], cancel: CancelToken) -> WarmUpResult:
        return self._chosen.warm_up(report, cancel)

    def set_layer_listener(self, listener: Callable[[int, int], None] | None) -> None:
        self._chosen.set_layer_listener(listener)

    def logits(self) -> NDArray[np.float32]:
        return self._chosen.logits()

    def open_sampler(self, settings: SamplingSettings, prompt: Sequence[int]) -> Sampler:
        return self._chosen.open_sampler(settings, prompt)

    def device_fault(self) -> DeviceLostError | None:
        return self._current.device_fault() if self._current is not None else None

    def counters(self) -> Counters:
        return self._chosen.counters()

    def experts(self) -> ExpertsSampled | None:
        return self._chosen.experts()

    def layers(self) -> LayersSampled | None:
        return self._chosen.layers()

    @property
    def _chosen(self) -> InferenceBackend:
        if self._current is None:
            raise StateError("No model is loaded.", "Open a model first.")
        return self._current
