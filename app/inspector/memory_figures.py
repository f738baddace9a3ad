"""The memory budget line by line: what was planned, and what is in use."""

from __future__ import annotations

from app.inspector.figures import UNKNOWN, count_text, part_text, percent_text
from app.inspector.slot_figures import used_slot_bytes
from engine.config import format_size
from engine.events import ExpertsSampled
from engine.model_facts import ModelInfo
from engine.placement.tier import Tier

_IN_RAM = (Tier.HOT, Tier.HOST_POOL, Tier.HOST_WINDOW)
MemoryRow = tuple[str, str, str]


def memory_lines(model: ModelInfo, sample: ExpertsSampled | None, filled_tokens: int) -> list[MemoryRow]:
    """(what, planned, in use now): parts, their sum, and the budget; then each device.

    What can't be told apart from the rest of the process has an empty place.
    """
    slots_used = used_slot_bytes(model, sample, _IN_RAM) if sample is not None else None
    filled = filled_tokens * kv_bytes_per_token(model)
    rows = [
        ("expert slots", format_size(model.slots_bytes), _size(slots_used)),
        ("dense weights", format_size(model.dense_bytes), ""),
        ("context (KV cache)", format_size(model.kv_bytes), format_size(filled)),
        ("compute buffers", format_size(model.compute_bytes), ""),
    ]
    if model.row_table_bytes:
        rows.append(("row tables", format_size(model.row_table_bytes), ""))
    rows.append(("together", format_size(planned_bytes(model)), ""))
    rows.append(("whole process after the load", "", _size(model.used_bytes)))
    if model.ram_budget_bytes:
        rows.append(_budget_row(model))
    if model.locked_bytes:
        rows.append(("locked in RAM", "", format_size(model.locked_bytes)))
    for device in model.devices:
        rows.append(
            (f"budget on {device.name}", format_size(device.budget_bytes), format_size(device.used_bytes))
        )
    return rows


def planned_bytes(model: ModelInfo) -> int:
    """What the engine means to take of RAM."""
    parts = model.slots_bytes, model.dense_bytes, model.kv_bytes, model.compute_bytes, model.row_table_bytes
    return sum(parts)


def kv_bytes_per_token(model: ModelInfo) -> int:
    """Keys and values of one token."""
    return model.kv_bytes // model.context_tokens if model.context_tokens else 0


def bytes_per_token(model: ModelInfo) -> int:
    """Dense weights and the chosen experts of every MoE layer; all counted as the largest of them."""
    return model.dense_bytes + len(model.moe_layers) * model.top_k * model.expert_bytes


def budget_for_all_bytes(model: ModelInfo) -> int:
    """The RAM budget with which every expert would have a slot."""
    all_slots = sum(each.slot_bytes * each.n_expert * len(each.layers) for each in model.slot_classes)
    return model.ram_budget_bytes - model.slots_bytes + max(all_slots, model.slots_bytes)


def context_words(model: ModelInfo, filled_tokens: int) -> str:
    """Size and growth of the KV cache in a line."""
    each = kv_bytes_per_token(model)
    return (
        f"KV cache: {part_text(filled_tokens * each, model.kv_bytes)} ({count_text(filled_tokens)} of "
        f"{count_text(model.context_tokens)} tokens), {format_size(each)} per token."
    )


def _budget_row(model: ModelInfo) -> MemoryRow:
    budget = model.ram_budget_bytes
    used = model.used_bytes / budget if model.used_bytes is not None else None
    planned = planned_bytes(model) / budget
    return f"of the budget of {format_size(budget)}", percent_text(planned), percent_text(used)


def _size(size_bytes: int | None) -> str:
    return UNKNOWN if size_bytes is None else format_size(size_bytes)
