"""Events with the few figures a test cares about; all others have plain fixed values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.events import (
    Counters,
    CountersSampled,
    EngineState,
    Event,
    ExpertsSampled,
    FinishReason,
    GenerationFinished,
    LayersSampled,
    LoadStarted,
    ModelLoaded,
    StateChanged,
    TtftPhases,
    Usage,
)
from engine.model_facts import ModelInfo, SlotClassInfo

Pairs = tuple[tuple[int, ...], tuple[int, ...]]
SECOND_NS = 1_000_000_000
EXPERT_BYTES = 1_000_000
SLOT_BYTES = 1_004_096


def model_info(
    moe_layers: tuple[int, ...] = (3, 4, 5), n_expert: int = 8, pool: int = 2, window: int = 4
) -> ModelInfo:
    """A model with one slot class over all its MoE layers; no layers: a dense one."""
    slots = pool * len(moe_layers) + window
    slot_class = SlotClassInfo(moe_layers, n_expert, slots, SLOT_BYTES, pool, window)
    return ModelInfo(
        path="/models/tiny.gguf", name="Tiny", architecture="test", file_bytes=10**9, n_layer=6,
        moe_layers=moe_layers, n_expert=n_expert if moe_layers else 0, top_k=2,
        expert_bytes=EXPERT_BYTES, dense_bytes=10**8, context_tokens=4096, kv_bytes=10**7,
        compute_bytes=10**7, slots_bytes=slots * SLOT_BYTES, ram_budget_bytes=10**9, unit_tokens=16,
        threads=2, slot_classes=(slot_class,) if moe_layers else (), is_direct_io=True,
        has_chat_template=True,
    )  # fmt: skip


def load_events(info: ModelInfo, t_seconds: float = 0.0) -> list[Event]:
    t_ns = int(t_seconds * SECOND_NS)
    return [
        LoadStarted(t_ns=t_ns, path=info.path),
        StateChanged(t_ns=t_ns, state=EngineState.LOADING),
        ModelLoaded(t_ns=t_ns, info=info, load_ns=1, initialise_ns=1),
        StateChanged(t_ns=t_ns, state=EngineState.READY),
    ]


def state_event(t_seconds: float, state: EngineState) -> StateChanged:
    return StateChanged(t_ns=int(t_seconds * SECOND_NS), state=state)


def counters_event(t_seconds: float, **figures: float) -> CountersSampled:
    return CountersSampled(t_ns=int(t_seconds * SECOND_NS), counters=Counters(**figures))  # type: ignore[arg-type]


def experts_event(
    t_seconds: float,
    prefill: Sequence[Sequence[int]],
    decode: Sequence[Sequence[int]] | None = None,
    tiers: Sequence[Sequence[int]] | None = None,
    last_pass: Sequence[Sequence[int]] | None = None,
    moe_layers: tuple[int, ...] | None = None,
) -> ExpertsSampled:
    """Rows are layers; what is left out is 0."""
    uses = np.array(prefill, np.int64)
    zeros = np.zeros_like(uses)
    return ExpertsSampled(
        t_ns=int(t_seconds * SECOND_NS),
        moe_layers=moe_layers if moe_layers is not None else tuple(range(3, 3 + len(uses))),
        prefill_uses=uses,
        decode_uses=zeros if decode is None else np.array(decode, np.int64),
        tiers=zeros.astype(np.uint8) if tiers is None else np.array(tiers, np.uint8),
        last_use_pass=zeros if last_pass is None else np.array(last_pass, np.int64),
    )


def busy_layer_events() -> list[Event]:
    """A load and one pass of prefill: layer 4 used expert 5 (in the pool) 40 times, 2 (on disk) 7 times."""
    uses, tiers = np.zeros((2, 3, 8), np.int64)
    uses[1, [2, 5]], tiers[1, 5] = (7, 40), 2
    pass_1 = experts_event(1, uses.tolist(), tiers=tiers.tolist(), last_pass=(uses > 0).tolist())
    return [*load_events(model_info()), pass_1]


def layers_event(t_seconds: float, moe_layers: tuple[int, ...] = (3, 4, 5), **costs: Pairs) -> LayersSampled:
    """Costs as (prefill, decode) pairs of one number per layer; what is left out is 0."""
    nothing = ((0,) * len(moe_layers),) * 2
    names = ("disk_wait_ns", "transfer_wait_ns", "own_ns", "compute_ns", "misses")
    given = {name: costs.get(name, nothing) for name in names}
    return LayersSampled(t_ns=int(t_seconds * SECOND_NS), moe_layers=moe_layers, **given)


def answer_event(t_seconds: float, ttft: TtftPhases) -> GenerationFinished:
    usage = Usage(100, 0, 20, 2 * SECOND_NS, SECOND_NS, 10**9, 10**8)
    return GenerationFinished(
        t_ns=int(t_seconds * SECOND_NS), text="", reason=FinishReason.END_OF_TEXT, usage=usage, ttft=ttft
    )
