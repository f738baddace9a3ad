"""From a memory budget for the whole process to what is left for expert slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.backends.context_size import ContextSize
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
    least_bytes,
)
from engine.placement.unit_choice import plan_placement

DEFAULT_CONTEXT_TOKENS = 4096
_SHARE_OF_AVAILABLE = 0.85  # the rest is for the desktop and the page cache
_RESERVE_BYTES = 48 * MIB  # graph work buffers, Python objects, thread stacks


@dataclass(frozen=True, slots=True)
class LoadBudget:
    """`program_bytes`: what the process took before loading; it counts against the budget.

    `dense_bytes` are without the `tables`, which stay on disk and whose rows need a buffer.
    """

    budget_bytes: int
    program_bytes: int
    dense_bytes: int
    tables: tuple[RowTable, ...]
    staging_bytes: int
    context_tokens: int
    context: ContextSize
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
        return cls(
            budget_bytes=budget,
            program_bytes=program,
            dense_bytes=layout.dense_bytes - sum(table.tensor.size_bytes for table in tables) + biases,
            tables=tuple(tables),
            staging_bytes=settings.reader_threads * stage_bytes,
            context_tokens=context,
            context=ContextSize.estimate(layout, facts, context),
            top_k=layout.top_k,
        )

    @property
    def row_table_bytes(self) -> int:
        return sum(table.tensor.size_bytes for table in self.tables)

    def reserve_bytes(self, unit_tokens: int) -> int:
        """For what is none of the other parts: staging, rows of the tables, work buffers."""
        return _RESERVE_BYTES + self.staging_bytes + buffer_bytes(self.tables, unit_tokens)

    def relieved(self, dense_bytes: int, kv_bytes: int, unit_tokens: int | None) -> LoadBudget:
        """The budget when so much is on devices, whose slots allow units of `unit_tokens` (None: any)."""
        return replace(
            self,
            dense_bytes=self.dense_bytes - dense_bytes,
            context=self.context.without_kv(kv_bytes),
            largest_unit_tokens=unit_tokens or self.largest_unit_tokens,
            kv_on_devices_bytes=kv_bytes,
        )

    def with_context(self, unit_tokens: int, size_bytes: int) -> LoadBudget:
        """The budget once a context for such a unit is there, and took `size_bytes`."""
        return replace(self, context=self.context.measured(unit_tokens, size_bytes))

    def up_to(self, unit_tokens: int) -> LoadBudget:
        """With no larger unit than this."""
        return replace(self, largest_unit_tokens=min(unit_tokens, self.largest_unit_tokens))

    def with_dense(self, extra_bytes: int) -> LoadBudget:
        """With so much more for dense weights."""
        return replace(self, dense_bytes=self.dense_bytes + extra_bytes)

    def plan(
        self,
        classes: tuple[SlotClassSpec, ...],
        settings: LoadSettings,
        current_unit: int | None = None,
        is_settled: bool = False,
    ) -> PlacementPlan:
        """The unit, and slots for what is left beside its context; a BudgetError names the least need.

        `current_unit`: of a context that is there already, which stays where it fits if that `is_settled`.
        """
        largest = min(self.largest_unit_tokens, self.context_tokens)
        request = PlacementRequest(
            classes,
            self.top_k,
            self.left_for_slots_bytes(0),
            settings.unit_tokens and min(settings.unit_tokens, largest),
            settings.slots_per_class,
            largest,
            settings.pool_per_layer,
            settings.routing is Routing.RESIDENT,
            settings.hot_per_layer,
            lambda unit: self.left_for_slots_bytes(0) - self.left_for_slots_bytes(unit),
        )
        missing = least_bytes(request) - self.left_for_slots_bytes(1)
        if missing > 0 and settings.slots_per_class is None:
            raise self._too_small(request, missing)
        return plan_placement(request, current_unit, is_settled)

    def _too_small(self, request: PlacementRequest, missing_bytes: int) -> BudgetError:
        experts = "least pools" if request.is_resident else "experts of one token"
        return BudgetError(
            f"A memory budget of {format_size(self.budget_bytes)} is too small for this model: it needs "
            f"at least {format_size(self.budget_bytes + missing_bytes)} "
            f"({format_size(self.dense_bytes)} dense weights, "
            f"{format_size(self.context.bytes_for(1))} context of {self.context_tokens} tokens, "
            f"{format_size(self.program_bytes)} program, {format_size(least_bytes(request))} {experts}).",
            "Raise the memory budget, or choose a smaller context.",
            settings=("ram_budget_bytes", "context_tokens"),
        )

    def left_for_slots_bytes(self, unit_tokens: int) -> int:
        """Budget minus everything that is not a slot, for such a unit; may be negative."""
        taken = self.program_bytes + self.dense_bytes + self.reserve_bytes(unit_tokens)
        return self.budget_bytes - taken - self.context.bytes_for(unit_tokens)
