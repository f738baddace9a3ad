"""What an inference backend must do, and on which thread.

A backend is owned by one thread (the engine worker); only `CancelToken.cancel` may be called elsewhere.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.config import LoadSettings, SamplingSettings
from engine.errors import Cancelled, DeviceLostError
from engine.events import Counters, ExpertsSampled, LayersSampled, LoadPhase
from engine.model_facts import ModelInfo


class CancelToken:
    """A one-way flag that any thread may raise and native code can read.

    The flag is a NUL-terminated C string of length 0 or 1, so that native code can test it without
    the interpreter's lock (see engine.native.abort).
    """

    def __init__(self) -> None:
        self._flag = ctypes.create_string_buffer(2)

    @property
    def address(self) -> int:
        """Address of the flag; valid while this token lives."""
        return ctypes.addressof(self._flag)

    @property
    def is_cancelled(self) -> bool:
        return self._flag.raw[0] != 0

    def cancel(self) -> None:
        """Raise the flag; any thread, returns at once."""
        self._flag[0] = b"\x01"

    def check(self) -> None:
        """Raise Cancelled if the flag is up."""
        if self.is_cancelled:
            raise Cancelled


@dataclass(frozen=True, slots=True)
class LoadReport:
    """Progress of a load; bytes in DENSE_READ, otherwise steps."""

    phase: LoadPhase
    done_bytes: int = 0
    total_bytes: int = 0


@dataclass(frozen=True, slots=True)
class LoadResult:
    """`load_ns`: inspect, map, dense read. `initialise_ns`: context, KV, slots, first graph."""

    info: ModelInfo
    load_ns: int
    initialise_ns: int


@dataclass(frozen=True, slots=True)
class WarmUpReport:
    """Progress of a warm-up: of the experts that were missing, and bytes read for them."""

    done_experts: int
    total_experts: int
    bytes_read: int


@dataclass(frozen=True, slots=True)
class WarmUpResult:
    """What a warm-up did; see events.WarmUpFinished."""

    experts_loaded: int
    bytes_read: int
    elapsed_ns: int
    expected_hit_rate_before: float
    expected_hit_rate_after: float
    is_profile_saved: bool


class Sampler(Protocol):
    """One sampler chain; owned by the engine thread; close() frees native memory."""

    def sample(self) -> int:
        """Next token id from the logits of the last evaluated token; also accepts it. Under 5 ms."""

    def close(self) -> None: ...


class InferenceBackend(Protocol):
    """One model at a time. All methods run on the owner's thread and may raise EngineError."""

    def load(
        self, settings: LoadSettings, report: Callable[[LoadReport], None], cancel: CancelToken
    ) -> LoadResult:
        """Load a model; seconds to minutes. Calls `report` at least once a second while bytes move.

        On any error or cancel (within a second) nothing stays loaded.
        """

    def adjust(self, wanted: LoadSettings, cancel: CancelToken) -> ModelInfo:
        """Let the loaded model go on with other settings, see placement.live_settings.

        Returns what is in force then. Slots and KV cache keep their content. Takes milliseconds, and the time
        to read what new pools lack, which a cancel leaves to later passes. Raises UsageError if a load is
        needed, or UnsupportedModelError; nothing has changed then.
        """

    def unload(self) -> None:
        """Free everything; idempotent."""

    def chat_template(self) -> str | None:
        """The model's jinja chat template, or None."""

    def special_text(self, name: str) -> str:
        """Text of a special token: name is "bos" or "eos"; empty if the model has none."""

    def tokenize(self, text: str, add_special: bool, parse_special: bool) -> list[int]:
        """Token ids of text; no limits on length."""

    def token_bytes(self, token: int) -> bytes:
        """UTF-8 bytes of one token (may be part of a character); empty for control tokens."""

    def is_end_token(self, token: int) -> bool:
        """Whether the token ends generation."""

    def keep_prefix(self, n_tokens: int) -> int:
        """Drop KV entries from position `n_tokens` on; returns how many are kept (0 if it can't cut)."""

    def evaluate(self, tokens: Sequence[int], position: int, is_prefill: bool, cancel: CancelToken) -> None:
        """Run tokens through all layers at `position`; logits of the last one become current.

        At most `unit` tokens per call keeps progress smooth; any number is allowed. On cancel or error
        raises, and the KV cache holds exactly the tokens before `position`.
        """

    def warm_up(self, report: Callable[[WarmUpReport], None], cancel: CancelToken) -> WarmUpResult:
        """Bring the experts into memory that will likely be wanted; seconds to minutes.

        KV cache and answers under exact routing stay as they are. Calls `report` about 20 times a second
        while bytes move; `counters` and `experts` may be read in it. On cancel (within a second) raises, and
        what has come stays. A dense model has nothing to do.
        """

    def set_layer_listener(self, listener: Callable[[int, int], None] | None) -> None:
        """During evaluate, call `listener(layers_done, layers)` now and then; it must return at once.

        For progress inside a unit, which may take a minute. `counters` and `experts` may be read in it.
        """

    def logits(self) -> NDArray[np.float32]:
        """Copy of the current logits, shape (n_vocab,)."""

    def open_sampler(self, settings: SamplingSettings, prompt: Sequence[int]) -> Sampler:
        """A sampler chain; `prompt` seeds the repeat penalty."""

    def device_fault(self) -> DeviceLostError | None:
        """Why the loaded model can't be used any more: a device it is on is gone. None as long as it can."""

    def counters(self) -> Counters:
        """Cumulative counters since load."""

    def experts(self) -> ExpertsSampled | None:
        """Per-expert detail (copies), or None for a dense model. Under 5 ms."""

    def layers(self) -> LayersSampled | None:
        """What each expert layer cost so far, or None for a dense model. Under 5 ms."""
