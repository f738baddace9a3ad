"""Facts the engine reports: frozen, picklable, units in names.

Two lanes: lifecycle events are never dropped; metrics may be, because counters are cumulative.
`seq` orders all events of one engine, `t_ns` is the monotonic clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from engine.errors import ErrorInfo
from engine.model_facts import ModelInfo


class EngineState(StrEnum):
    """What the engine thread is doing."""

    EMPTY = "empty"
    LOADING = "loading"
    READY = "ready"
    GENERATING = "generating"
    WARMING_UP = "warming_up"
    CLOSED = "closed"


class LoadPhase(StrEnum):
    """Steps of loading, in order."""

    INSPECT = "inspect"
    MAP = "map"
    DENSE_READ = "dense_read"
    CONTEXT = "context"
    SLOTS = "slots"
    FIRST_GRAPH = "first_graph"


class FinishReason(StrEnum):
    """Why an answer ended."""

    END_OF_TEXT = "end_of_text"
    STOP_STRING = "stop_string"
    MAX_TOKENS = "max_tokens"
    CONTEXT_FULL = "context_full"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class TtftPhases:
    """Time to first token in nanoseconds, split into phases that add up to `total_ns`.

    `prefill_disk_wait_ns` and `prefill_transfer_wait_ns` are parts of `prefill_ns`, no phases of their own.
    `first_paint_ns`, from the first token to its pixels, is known to a window only; the engine leaves it 0.
    """

    queue_ns: int = 0
    load_ns: int = 0
    initialise_ns: int = 0
    warm_up_ns: int = 0
    template_ns: int = 0
    prefill_ns: int = 0
    first_decode_ns: int = 0
    prefill_disk_wait_ns: int = 0
    prefill_transfer_wait_ns: int = 0
    first_paint_ns: int = 0

    @property
    def total_ns(self) -> int:
        return (
            self.queue_ns + self.load_ns + self.initialise_ns + self.warm_up_ns
            + self.template_ns + self.prefill_ns + self.first_decode_ns + self.first_paint_ns
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and times of one answer."""

    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    prefill_ns: int
    decode_ns: int
    bytes_read: int
    disk_wait_ns: int

    @property
    def prefill_tokens_per_second(self) -> float:
        new = self.prompt_tokens - self.cached_tokens
        return new * 1e9 / self.prefill_ns if self.prefill_ns else 0.0

    @property
    def decode_tokens_per_second(self) -> float:
        return self.completion_tokens * 1e9 / self.decode_ns if self.decode_ns else 0.0


@dataclass(frozen=True, slots=True)
class Counters:
    """Cumulative since the model was loaded; never deltas. Rates are the reader's business.

    An expert request is one distinct expert that a layer needs for one unit; it is a miss if its bytes were
    neither in a slot nor on their way, and it was streamed if reading began before the layer asked.
    `bytes_by_reason`: keys "dense", "miss", "stream", "promote", "warm_up", "row". `disk_busy_ns`: time with
    at least one read in flight; `disk_wait_ns`: time the engine thread stood still for reads.
    `transfer_wait_ns`: time it stood still for copies to a device; `bytes_by_link` counts those copies per
    device. `expert_copied_ahead`: how many of them began before the layer asked, and for how many of these it
    then did. `requests_by_tier`: expert requests by where the expert was when it was asked for, keys are the
    lower-case names of placement.Tier. `ranks_routed` up to `gate_mass_used` count with resident routing
    only, see placement.routing_policy.RoutingCost.
    """

    prefill_tokens: int = 0
    decode_tokens: int = 0
    prefill_ns: int = 0
    decode_ns: int = 0
    disk_wait_prefill_ns: int = 0
    disk_wait_decode_ns: int = 0
    callback_ns: int = 0
    disk_busy_ns: int = 0
    bytes_read: int = 0
    bytes_by_reason: dict[str, int] = field(default_factory=dict)
    expert_requests: int = 0
    expert_misses: int = 0
    expert_streamed: int = 0
    expert_streamed_used: int = 0
    evictions: int = 0
    passes: int = 0
    read_errors: int = 0
    ranks_routed: int = 0
    ranks_replaced: int = 0
    gate_mass_wanted: float = 0.0
    gate_mass_used: float = 0.0
    transfer_wait_prefill_ns: int = 0
    transfer_wait_decode_ns: int = 0
    transfer_busy_ns: int = 0
    bytes_by_link: dict[str, int] = field(default_factory=dict)
    expert_copied_ahead: int = 0
    expert_copied_ahead_used: int = 0
    requests_by_tier: dict[str, int] = field(default_factory=dict)

    @property
    def disk_wait_ns(self) -> int:
        return self.disk_wait_prefill_ns + self.disk_wait_decode_ns

    @property
    def transfer_wait_ns(self) -> int:
        return self.transfer_wait_prefill_ns + self.transfer_wait_decode_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Base of all events; the sink fills `seq` and `t_ns`."""

    seq: int = 0
    t_ns: int = 0
    request_id: int = 0


# --- lifecycle lane -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChanged(Event):
    state: EngineState


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadStarted(Event):
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelLoaded(Event):
    info: ModelInfo
    load_ns: int
    initialise_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAdjusted(Event):
    """The loaded model goes on with other settings; `info` says which are in force."""

    info: ModelInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUnloaded(Event):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFailed(Event):
    """A request ended without a result (a cancelled load too: kind "Cancelled").

    With `request_id` 0 nobody asked: what was loaded is lost (kind "DeviceLostError") or could not be freed.
    """

    error: ErrorInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationStarted(Event):
    """The prompt is tokenised; `cached_tokens` of `prompt_tokens` need no prefill."""

    prompt_tokens: int
    cached_tokens: int
    context_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensCounted(Event):
    """The prompt of these messages would take `tokens` of the `context_tokens` of the loaded model."""

    tokens: int
    context_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta(Event):
    """Whole characters to append; `completion_tokens` counts tokens so far (cumulative)."""

    text: str
    completion_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationFinished(Event):
    text: str
    reason: FinishReason
    usage: Usage
    ttft: TtftPhases


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmUpFinished(Event):
    """`experts_loaded` were read. Expected hit rates, 0 to 1: share of what will likely be asked for that was
    in memory before, and is now. `is_profile_saved`: what was learned is kept for the next session.
    """

    experts_loaded: int
    bytes_read: int
    elapsed_ns: int
    expected_hit_rate_before: float
    expected_hit_rate_after: float
    is_profile_saved: bool


# --- metrics lane ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadProgress(Event):
    """`total` and `done` count bytes in DENSE_READ, otherwise steps (both 0: indeterminate)."""

    phase: LoadPhase
    done_bytes: int
    total_bytes: int
    bytes_per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefillProgress(Event):
    """`done_tokens` of `total_tokens` prompt tokens are in the KV cache, `cached_tokens` of them re-used."""

    done_tokens: int
    total_tokens: int
    cached_tokens: int
    elapsed_ns: int
    layers_done: int = 0
    layers_total: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmUpProgress(Event):
    """`done_experts` of the `total_experts` that were missing are in memory; `bytes_read` for them so far."""

    done_experts: int
    total_experts: int
    bytes_read: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CountersSampled(Event):
    counters: Counters


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertsSampled(Event):
    """Per-expert detail, one read-only array each; rows are `moe_layers`, columns expert ids.

    `prefill_uses`, `decode_uses`: int64, cumulative picks. `tiers`: uint8, see placement.Tier
    (0 disk, 1 host window, 2 host pool, 3 hot zone in RAM, 4 VRAM).
    `last_use_pass`: int64, pass of the last use (0 never).
    """

    moe_layers: tuple[int, ...]
    prefill_uses: NDArray[np.int64]
    decode_uses: NDArray[np.int64]
    tiers: NDArray[np.uint8]
    last_use_pass: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class LayersSampled(Event):
    """What each expert layer cost since the load, cumulative; one number per layer of `moe_layers`.

    Every pair is (prefill, decode). `disk_wait_ns` and `transfer_wait_ns` as in Counters, `own_ns` our own
    work between them, `compute_ns` from a layer's routing to the next one's. Waits for members of its pool
    before a pass are a layer's too. Sums over the layers are those of Counters: disk waits (without rows of
    tables), transfer waits, `callback_ns`, and for `misses` `expert_misses`.
    """

    moe_layers: tuple[int, ...]
    disk_wait_ns: tuple[tuple[int, ...], tuple[int, ...]]
    transfer_wait_ns: tuple[tuple[int, ...], tuple[int, ...]]
    own_ns: tuple[tuple[int, ...], tuple[int, ...]]
    compute_ns: tuple[tuple[int, ...], tuple[int, ...]]
    misses: tuple[tuple[int, ...], tuple[int, ...]]


METRIC_EVENTS = (
    LoadProgress, PrefillProgress, WarmUpProgress, CountersSampled, ExpertsSampled, LayersSampled,
)  # fmt: skip
