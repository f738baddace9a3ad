"""The placement plan of a load that has not happened: header and budget only, no weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.backends.device_preview import preview_devices
from engine.backends.heat_keeper import known_use, saved_profile
from engine.backends.load_budget import LoadBudget
from engine.backends.repacking import Repacking, decide_repacking
from engine.backends.slot_classes import class_specs, largest_read_bytes, layer_classes
from engine.config import LoadSettings, Routing
from engine.gguf.expert_layout import ExpertLayout, expert_layout
from engine.gguf.facts import ModelFacts, model_facts
from engine.gguf.model_file import ModelFile
from engine.gguf.reader import read_model
from engine.gguf.row_tables import row_tables, tables_read_by_row
from engine.model_facts import DeviceInfo
from engine.placement.forecast import LayerForecast, forecast_layers, hit_rate
from engine.placement.heat_profile import HeatProfile
from engine.placement.placement_plan import PlacementPlan
from engine.placement.use_estimate import KnownUse


@dataclass(frozen=True, slots=True)
class PlacementPreview:
    """What a load with these settings would do; `budget.context` is an estimate."""

    settings: LoadSettings
    model: ModelFile
    layout: ExpertLayout
    facts: ModelFacts
    budget: LoadBudget
    plan: PlacementPlan
    profile: HeatProfile | None
    repacking: Repacking
    notes: tuple[str, ...]
    devices: tuple[DeviceInfo, ...] = ()
    device_notes: tuple[str, ...] = ()

    @property
    def vram_bytes(self) -> int:
        """What devices would take in all."""
        return sum(device.used_bytes for device in self.devices)

    @property
    def repacked_classes(self) -> list[bool]:
        """Whether slots of each class hold repacked weights."""
        return self.repacking.are_repacked(layer_classes(self.layout.layers))

    @property
    def disk_bytes(self) -> int:
        """Experts for which there is no slot; experts of a class are equally large."""
        sizes = {layer.layer: layer.expert_bytes for layer in self.layout.layers}
        return sum((c.spec.all_slots - c.slots) * sizes[c.spec.layers[0]] for c in self.plan.classes)

    def forecast(self, n_tokens: int) -> list[LayerForecast]:
        """Expected requests and misses per layer in a unit of `n_tokens`."""
        is_resident = self.settings.routing is Routing.RESIDENT
        return forecast_layers(self.plan, self.facts.top_k, is_resident, self._known(), n_tokens)

    def miss_bytes(self, n_tokens: int) -> float:
        """Bytes that such a unit must read, expected."""
        sizes = {layer.layer: layer.expert_bytes for layer in self.layout.layers}
        return sum(each.misses * sizes[each.layer] for each in self.forecast(n_tokens))

    @property
    def touched_bytes(self) -> int:
        """Weights that one decoded token passes: next to nothing of tables that are only read by row."""
        rows_only = sum(table.tensor.size_bytes for table in tables_read_by_row(self.model))
        experts = sum(layer.expert_bytes for layer in self.layout.layers) * self.facts.top_k
        return self.layout.dense_bytes - rows_only + experts

    @property
    def is_profile_used(self) -> bool:
        """Whether the forecast knows more than uniform use."""
        return any(each is not None for each in self._known())

    def _known(self) -> Sequence[KnownUse | None]:
        return known_use(self.profile, self.plan, self.facts.top_k)


def preview_placement(
    settings: LoadSettings, program_bytes: int | None = None, held: Sequence[DeviceInfo] = ()
) -> PlacementPreview:
    """Plan as a load would; raises what a load would: a bad file, or a budget that is too small.

    `program_bytes`: memory of this process without the model that it holds now; None: it holds none. `held`:
    devices that this model is on.
    """
    model = read_model(settings.path)
    layout = expert_layout(model)
    facts = model_facts(model, layout)
    tables = row_tables(model, bool(layout.layers))
    budget = LoadBudget.measure(settings, layout, facts, largest_read_bytes(layout), tables, program_bytes)
    specs = class_specs(layer_classes(layout.layers))
    devices = preview_devices(settings, layout, facts, budget, held)
    budget, host_settings = devices.budget, devices.host_settings
    plan = budget.plan(specs, host_settings)
    profile, notes = saved_profile(settings, model)
    repacking = decide_repacking(
        host_settings, layout, plan, known_use(profile, plan, facts.top_k), bool(tables)
    )
    if repacking.extra_dense_bytes:
        budget = budget.with_dense(repacking.extra_dense_bytes)
        plan = budget.plan(specs, host_settings)
    notes += repacking.notes + devices.notes
    return PlacementPreview(
        settings, model, layout, facts, budget, plan, profile, repacking, notes, devices.infos, devices.notes
    )


def expected_hit_rate(settings: LoadSettings, plan: PlacementPlan) -> tuple[float, bool]:
    """Share of single tokens' requests that memory serves with this plan, and whether that is learned."""
    model = read_model(settings.path)
    top_k = expert_layout(model).top_k
    profile, _ = saved_profile(settings, model)
    known = known_use(profile, plan, top_k)
    layers = forecast_layers(plan, top_k, settings.routing is Routing.RESIDENT, known, 1)
    return hit_rate(layers), any(each is not None for each in known)
