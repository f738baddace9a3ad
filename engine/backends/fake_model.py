"""What a simulated model says about itself."""

from __future__ import annotations

from dataclasses import replace

from engine.backends.fake_script import FakeScript
from engine.config import LoadSettings, format_size, usable_cores
from engine.errors import BudgetError
from engine.model_facts import ModelInfo, SlotClassInfo
from engine.placement.hot_zone import DEFAULT_HOT

_NOTE = "This model is simulated: its words are fixed and its figures are computed, not measured."


def fake_model_info(script: FakeScript, settings: LoadSettings) -> ModelInfo:
    """Effective settings of the simulated model; raises BudgetError if the budget is below its least."""
    context_tokens = settings.context_tokens or script.context_tokens
    kv_bytes = context_tokens * script.kv_bytes_per_token
    fixed_bytes = script.dense_bytes + kv_bytes + script.compute_bytes
    classes, notes = _slot_classes(script, settings, fixed_bytes)
    slots_bytes = sum(slots.slots * slots.slot_bytes for slots in classes)
    return ModelInfo(
        path=str(settings.path),
        name=script.name,
        architecture="simulated",
        file_bytes=script.file_bytes,
        n_layer=script.n_layer,
        moe_layers=() if script.is_dense else tuple(range(script.n_layer)),
        n_expert=script.n_expert,
        top_k=0 if script.is_dense else script.top_k,
        expert_bytes=0 if script.is_dense else script.expert_bytes,
        dense_bytes=script.dense_bytes,
        context_tokens=context_tokens,
        kv_bytes=kv_bytes,
        compute_bytes=script.compute_bytes,
        slots_bytes=slots_bytes,
        ram_budget_bytes=settings.ram_budget_bytes or fixed_bytes + slots_bytes,
        unit_tokens=settings.unit_tokens or script.unit_tokens,
        largest_unit_tokens=settings.unit_tokens or script.unit_tokens,
        is_unit_open=settings.unit_tokens is None,
        routing=settings.routing,
        is_pool_fixed=settings.is_pool_fixed,
        threads=settings.threads or usable_cores(),
        slot_classes=classes,
        is_direct_io=False,
        has_chat_template=True,
        requested_context_tokens=settings.context_tokens,
        requested_unit_tokens=settings.unit_tokens,
        notes=(_NOTE, *notes),
    )


def adjusted_info(script: FakeScript, wanted: LoadSettings, info: ModelInfo) -> ModelInfo:
    """The same model with what of `wanted` needs no load."""
    unit_tokens = min(wanted.unit_tokens or script.unit_tokens, info.largest_unit_tokens)
    return replace(
        fake_model_info(script, wanted),
        unit_tokens=unit_tokens,
        largest_unit_tokens=info.largest_unit_tokens,
        is_unit_open=info.is_unit_open,
    )


def _slot_classes(
    script: FakeScript, settings: LoadSettings, fixed_bytes: int
) -> tuple[tuple[SlotClassInfo, ...], tuple[str, ...]]:
    budget_bytes = settings.ram_budget_bytes
    least_bytes = fixed_bytes
    if not script.is_dense:
        least_bytes += (script.n_layer * script.top_k + script.window_slots) * script.expert_bytes
    if budget_bytes is not None and budget_bytes < least_bytes:
        raise BudgetError(
            f"A budget of {format_size(budget_bytes)} can't hold this simulated model.",
            f"Give it at least {format_size(least_bytes)}.",
            settings=("ram_budget_bytes",),
        )
    if script.is_dense:
        return (), ()
    room = _pool_per_layer(script, budget_bytes, fixed_bytes)
    slots = script.n_layer * room + script.window_slots
    pool = max(script.top_k, min(room, settings.pool_per_layer or room))
    slot_class = SlotClassInfo(
        layers=tuple(range(script.n_layer)),
        n_expert=script.n_expert,
        slots=slots,
        slot_bytes=script.expert_bytes,
        pool_per_layer=pool,
        window_slots=slots - script.n_layer * pool,
        hot_per_layer=min(pool, DEFAULT_HOT if settings.hot_per_layer is None else settings.hot_per_layer),
    )
    is_changed = room != script.pool_per_layer
    notes = (f"The memory budget allows {room} resident experts per layer.",) if is_changed else ()
    return (slot_class,), notes


def _pool_per_layer(script: FakeScript, budget_bytes: int | None, fixed_bytes: int) -> int:
    if budget_bytes is None:
        return script.pool_per_layer
    slots = (budget_bytes - fixed_bytes) // script.expert_bytes - script.window_slots
    return max(script.top_k, min(script.n_expert, slots // script.n_layer))
