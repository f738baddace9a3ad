"""Uses of experts over four windows, from cumulative per-expert counters."""

from __future__ import annotations

import copy
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.expert_moves import ExpertMoves
from engine.events import ExpertsSampled

HALF_LIFE_SECONDS = 10.0


class Phase(StrEnum):
    """Which picks count."""

    BOTH = "both"
    PREFILL = "prefill"
    DECODE = "decode"


class HeatWindow(StrEnum):
    """Over which time picks count."""

    LAST_TOKEN = "last_token"
    LAST_PASS = "last_pass"
    DECAYING = "decaying"
    SESSION = "session"


class ExpertHistory:
    """Newest per-expert sample and what came before it; arrays are (moe layers, experts); one thread.

    No array is ever changed in place, so `snapshot` is cheap.
    """

    def __init__(self, sample: ExpertsSampled) -> None:
        self.sample = sample
        self.moves = ExpertMoves(sample)
        self.pass_number = newest_pass(sample)
        # counters start at 0 with the model, so the first sample's last pass counts from there
        self._base: ExpertsSampled | None = None
        self._token_base: ExpertsSampled | None = None
        self._decayed_prefill = sample.prefill_uses.astype(np.float32)
        self._decayed_decode = sample.decode_uses.astype(np.float32)

    def follows(self, sample: ExpertsSampled) -> bool:
        """Whether `sample` continues this history (same layers and experts, no counter fell)."""
        return (
            sample.moe_layers == self.sample.moe_layers
            and sample.prefill_uses.shape == self.sample.prefill_uses.shape
            and bool((sample.prefill_uses >= self.sample.prefill_uses).all())
            and bool((sample.decode_uses >= self.sample.decode_uses).all())
        )

    def add(self, sample: ExpertsSampled) -> None:
        """Take a sample that follows; a new pass begins at the sample before it."""
        pass_number = newest_pass(sample)
        if pass_number > self.pass_number:
            self._base = self.sample
            self.pass_number = pass_number
        if (sample.decode_uses != self.sample.decode_uses).any():
            self._token_base = self.sample
        self._decay(sample)
        self.moves.add(self.sample, sample)
        self.sample = sample

    def snapshot(self) -> ExpertHistory:
        """The history as it is now; later samples don't reach it."""
        kept = copy.copy(self)
        kept.moves = copy.copy(self.moves)
        return kept

    def _decay(self, sample: ExpertsSampled) -> None:
        seconds = max(0, sample.t_ns - self.sample.t_ns) / 1e9
        keep = np.float32(0.5 ** (seconds / HALF_LIFE_SECONDS))
        self._decayed_prefill = self._decayed_prefill * keep + (
            sample.prefill_uses - self.sample.prefill_uses
        ).astype(np.float32)
        self._decayed_decode = self._decayed_decode * keep + (
            sample.decode_uses - self.sample.decode_uses
        ).astype(np.float32)

    @property
    def base_pass_number(self) -> int:
        """Pass of the sample from which the last-pass window counts; 0: since the model was loaded."""
        return newest_pass(self._base) if self._base else 0

    def uses(self, phase: Phase, window: HeatWindow) -> NDArray[np.float64]:
        """Picks per expert, shape (moe layers, experts); fractions only in the decaying window."""
        if window is HeatWindow.LAST_TOKEN:
            picks = self._token_picks()
            return (np.zeros_like(picks) if phase is Phase.PREFILL else picks).astype(np.float64)
        if window is HeatWindow.DECAYING:
            return _of_phase(phase, self._decayed_prefill, self._decayed_decode).astype(np.float64)
        total = _of_phase(phase, self.sample.prefill_uses, self.sample.decode_uses)
        if window is HeatWindow.LAST_PASS and self._base:
            total = total - _of_phase(phase, self._base.prefill_uses, self._base.decode_uses)
        return total.astype(np.float64)

    def last_tokens(self, top_k: int) -> int:
        """Decoded tokens in the last-token window: more than one if they were sampled together."""
        picks = int(self._token_picks().sum(axis=1).max(initial=0))
        return -(-picks // top_k) if top_k else 0

    def _token_picks(self) -> NDArray[np.int64]:
        """Picks in decode since the sample before the newest one in which decoding went on."""
        if self._token_base is None:
            return self.sample.decode_uses
        return self.sample.decode_uses - self._token_base.decode_uses


def newest_pass(sample: ExpertsSampled) -> int:
    """The last pass any expert was used in; 0 before the first."""
    return int(sample.last_use_pass.max(initial=0))


def _of_phase(phase: Phase, prefill: NDArray[Any], decode: NDArray[Any]) -> NDArray[Any]:
    if phase is Phase.PREFILL:
        return prefill
    return decode if phase is Phase.DECODE else prefill + decode
