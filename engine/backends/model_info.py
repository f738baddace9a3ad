"""What a finished load tells the user: effective settings, sizes, notes where they differ from the asked."""

from __future__ import annotations

from engine.backends.load_budget import LoadBudget
from engine.config import LoadSettings, format_size, usable_cores
from engine.gguf.facts import ModelFacts
from engine.model_facts import ModelInfo, SlotClassInfo
from engine.placement.placement_plan import PlacementPlan


def describe(
    settings: LoadSettings,
    facts: ModelFacts,
    budget: LoadBudget,
    plan: PlacementPlan,
    context_tokens: int,
    context_bytes: int,
    is_direct_io: bool,
) -> ModelInfo:
    """The loaded model as a frozen value; bytes are planned sizes."""
    kv_bytes = facts.kv_bytes_per_token * context_tokens - budget.kv_on_devices_bytes
    return ModelInfo(
        path=str(settings.path),
        name=facts.name,
        architecture=facts.architecture,
        file_bytes=facts.file_bytes,
        n_layer=facts.n_layer,
        moe_layers=tuple(sorted(layer for c in plan.classes for layer in c.spec.layers)),
        n_expert=facts.n_expert,
        top_k=facts.top_k,
        expert_bytes=facts.expert_bytes,
        dense_bytes=budget.dense_bytes,
        context_tokens=context_tokens,
        kv_bytes=kv_bytes,
        compute_bytes=max(0, context_bytes - kv_bytes),
        slots_bytes=plan.slots_bytes,
        ram_budget_bytes=effective_budget_bytes(settings, budget, plan),
        unit_tokens=plan.unit_tokens,
        threads=settings.threads or usable_cores(),
        slot_classes=tuple(
            SlotClassInfo(
                c.spec.layers, c.spec.n_expert, c.slots, c.spec.slot_bytes, c.decode_pool,
                c.slots - len(c.spec.layers) * c.decode_pool, c.hot_per_layer,
            )
            for c in plan.classes
        ),
        is_direct_io=is_direct_io,
        has_chat_template=facts.chat_template is not None,
        requested_context_tokens=settings.context_tokens,
        requested_unit_tokens=settings.unit_tokens,
        program_bytes=budget.program_bytes,
        row_table_bytes=budget.row_table_bytes,
        routing=settings.routing,
        is_pool_fixed=settings.is_pool_fixed,
        is_unit_open=settings.unit_tokens is None,
        notes=_notes(settings, facts, plan, context_tokens, is_direct_io),
    )  # fmt: skip


def effective_budget_bytes(settings: LoadSettings, budget: LoadBudget, plan: PlacementPlan) -> int:
    """The cap; where slots were asked for by number and no cap was, what they and all the rest take."""
    if settings.slots_per_class is None or settings.ram_budget_bytes is not None:
        return budget.budget_bytes
    return budget.budget_bytes - budget.left_for_slots_bytes(plan.unit_tokens) + plan.slots_bytes


def unit_notes(asked_tokens: int | None, unit_tokens: int) -> tuple[str, ...]:
    """Why the unit is smaller than asked for, if it is."""
    if asked_tokens is None or unit_tokens >= asked_tokens:
        return ()
    return (
        f"The prefill unit is {unit_tokens} tokens instead of {asked_tokens}: "
        "the experts of a larger unit might not fit into the slots at once.",
    )


def _notes(
    settings: LoadSettings, facts: ModelFacts, plan: PlacementPlan, context_tokens: int, is_direct_io: bool
) -> tuple[str, ...]:
    notes: list[str] = []
    if not is_direct_io:
        notes.append(
            "This filesystem has no direct I/O: experts are read through the page cache, which is slower."
        )
    notes += unit_notes(settings.unit_tokens, plan.unit_tokens)
    if settings.context_tokens and context_tokens != settings.context_tokens:
        notes.append(f"The context is {context_tokens} tokens instead of {settings.context_tokens}.")
    if facts.context_length and context_tokens > facts.context_length:
        notes.append(f"The model was trained on {facts.context_length} tokens; beyond that answers degrade.")
    if plan.classes and all(c.is_fully_resident for c in plan.classes):
        notes.append(f"All experts fit into memory ({format_size(plan.slots_bytes)} of slots).")
    return tuple(notes)
