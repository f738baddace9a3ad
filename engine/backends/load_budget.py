"""From a memory budget for the whole process to what is left for expert slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.backends.row_loading import buffer_bytes
from engine.config import MIB, LoadSettings, Routing, format_size
from engine.errors import BudgetError
from engine.gguf.expert_layout import ExpertLayout
from engine.gguf.facts import ModelFacts
from engine.gguf.row_tables import RowTable
from engine.hardware.memory import available_bytes, resident_bytes
from engine.placement.placement_plan import (
    AUTO_UNITS,
    PlacementPlan,
    PlacementRequest,
    SlotClassSpec,
    least_slots,
    plan_placement,
)

DEFAULT_CONTEXT_TOKENS = 4096
_SHARE_OF_AVAILABLE = 0.85  # the rest is for the desktop and the page cache
_RESERVE_BYTES = 48 * MIB  # graph work buffers, Python objects, thread stacks


@dataclass(frozen=True, slots=True)
class LoadBudget:
    """`program_bytes`: what the process took before loading; it counts against the budget.

    `dense_bytes` are without `row_table_bytes`, which stay on disk; `reserve_bytes` hold their rows.
    """

    budget_bytes: int
    program_bytes: int
    dense_bytes: int
    row_table_bytes: int
    reserve_bytes: int
    context_tokens: int
    context_estimate_bytes: int
    top_k: int
    largest_unit_tokens: int = AUTO_UNITS[0]
    kv_on_devices_bytes: int = 0

    @classmethod
    def measure(
        cls,
        settings: LoadSettings,
        layout: ExpertLayout,
        facts: ModelFacts,
        stage_bytes: int,
        tables: Sequence[RowTable],
        program_bytes: int | None = None,
    ) -> LoadBudget:
        """Take stock of the machine and of the process now, or as it will be without the model it holds."""
        resident = resident_bytes()
        program = resident if program_bytes is None else program_bytes
        freed = max(0, resident - program)
        budget = settings.ram_budget_bytes
        if budget is None:
            budget = program + int(_SHARE_OF_AVAILABLE * (available_bytes() + freed))
        context = settings.context_tokens or min(
            DEFAULT_CONTEXT_TOKENS, facts.context_length or DEFAULT_CONTEXT_TOKENS
        )
        biases = sum(bias.tensor.size_bytes for layer in layout.layers for bias in layer.biases)
        row_table_bytes = sum(table.tensor.size_bytes for table in tables)
        rows_bytes = buffer_bytes(tables, settings.unit_tokens or AUTO_UNITS[0])
        return cls(
            budget_bytes=budget,
            program_bytes=program,
            dense_bytes=layout.dense_bytes - row_table_bytes + biases,
            row_table_bytes=row_table_bytes,
            reserve_bytes=_RESERVE_BYTES + settings.reader_threads * stage_bytes + rows_bytes,
            context_tokens=context,
            context_estimate_bytes=_context_estimate_bytes(facts, context, settings.unit_tokens),
            top_k=layout.top_k,
        )

    def relieved(self, dense_bytes: int, kv_bytes: int, unit_tokens: int | None) -> LoadBudget:
        """The budget when so much is on devices, whose slots allow units of `unit_tokens` (None: any)."""
        return replace(
            self,
            dense_bytes=self.dense_bytes - dense_bytes,
            context_estimate_bytes=self.context_estimate_bytes - kv_bytes,
            largest_unit_tokens=unit_tokens or self.largest_unit_tokens,
            kv_on_devices_bytes=kv_bytes,
        )

    def for_context(self, unit_tokens: int) -> LoadBudget:
        """The budget once a context is made, which takes at most `unit_tokens` at a time."""
        return replace(self, largest_unit_tokens=min(unit_tokens, self.largest_unit_tokens))

    def with_dense(self, extra_bytes: int) -> LoadBudget:
        """With so much more for dense weights."""
        return replace(self, dense_bytes=self.dense_bytes + extra_bytes)

    def plan(
        self, classes: tuple[SlotClassSpec, ...], settings: LoadSettings, context_bytes: int
    ) -> PlacementPlan:
        """Slots for what is left beside a context of `context_bytes`; a BudgetError names the least need."""
        left = self.left_for_slots_bytes(context_bytes)
        request = PlacementRequest(
            classes,
            self.top_k,
            left,
            settings.unit_tokens and min(settings.unit_tokens, self.largest_unit_tokens),
            settings.slots_per_class,
            min(self.largest_unit_tokens, self.context_tokens),
            settings.pool_per_layer,
            settings.routing is Routing.RESIDENT,
            settings.hot_per_layer,
        )
        least = sum(least_slots(request, spec) * spec.slot_bytes for spec in classes)
        if left < least and settings.slots_per_class is None:
            raise self._too_small(request, least, context_bytes)
        return plan_placement(request)

    def _too_small(self, request: PlacementRequest, least: int, context_bytes: int) -> BudgetError:
        need = format_size(self.budget_bytes + least - request.slots_budget_bytes)
        experts = "least pools" if request.is_resident else "experts of one token"
        return BudgetError(
            f"A memory budget of {format_size(self.budget_bytes)} is too small for this model: it needs "
            f"at least {need} ({format_size(self.dense_bytes)} dense weights, "
            f"{format_size(context_bytes)} context of {self.context_tokens} tokens, "
            f"{format_size(self.program_bytes)} program, {format_size(least)} {experts}).",
            "Raise the budget (--ram), or choose a smaller context (--ctx).",
        )

    def left_for_slots_bytes(self, context_bytes: int) -> int:
        """Budget minus everything that is not a slot; may be negative."""
        taken = self.program_bytes + self.dense_bytes + self.reserve_bytes + context_bytes
        return self.budget_bytes - taken


def _context_estimate_bytes(facts: ModelFacts, context_tokens: int, unit_tokens: int | None) -> int:
    """KV cache plus compute buffers, before llama.cpp has said what it takes.

    Per token of a unit, activations are a few dozen rows of the embedding width in float32; one row of
    logits is kept. Measured after the context exists, so this only has to choose the unit sensibly.
    """
    unit = unit_tokens or AUTO_UNITS[0]
    activations = unit * 4 * (24 * facts.n_embd + 4 * context_tokens)
    return facts.kv_bytes_per_token * context_tokens + activations + 4 * facts.n_vocab
