"""What a load would do, before it is done: from the file's header and the budget alone. No Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.chosen_backend import SIMULATED_PATH
from engine.backends.fake_model import adjusted_info, fake_model_info
from engine.backends.fake_script import FakeScript
from engine.config import LoadSettings
from engine.errors import EngineError, ErrorInfo
from engine.model_facts import DeviceInfo, ModelInfo
from engine.placement.live_settings import live_info, live_plan


@dataclass(frozen=True, slots=True)
class Forecast:
    """Per layer: the least and the most among the classes of layers. `hit_rate`: of single tokens once the
    slots are warm, None if nobody can tell; `is_hit_rate_learned`: it rests on what this model has used.
    `lent_slots`: those of all layers together that belong to no pool. `notes`: about devices.
    """

    n_expert: int
    pool_per_layer: tuple[int, int]
    lent_slots: int
    unit_tokens: int
    budget_bytes: int
    slots_bytes: int
    dense_bytes: int
    context_bytes: int
    disk_bytes: int
    hit_rate: float | None = None
    is_hit_rate_learned: bool = False
    devices: tuple[DeviceInfo, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ForecastAnswer:
    """What was asked, and either a forecast or why such a load would be refused."""

    settings: LoadSettings
    forecast: Forecast | None = None
    error: ErrorInfo | None = None


def forecast_load(settings: LoadSettings, model: ModelInfo | None = None) -> ForecastAnswer:
    """What a load would do; `model`: the one that is in memory now, and would be freed first.

    Reads the file's header, up to a second for the largest; any thread. Raises nothing of the engine's.
    """
    try:
        return ForecastAnswer(settings, _forecast(settings, model))
    except EngineError as error:
        return ForecastAnswer(settings, error=error.info)


def forecast_change(settings: LoadSettings, model: ModelInfo) -> ForecastAnswer:
    """What the loaded model would be with settings that need no other load; as `forecast_load` otherwise."""
    if settings.path == SIMULATED_PATH:
        return ForecastAnswer(settings, model_forecast(adjusted_info(FakeScript(), settings, model)))
    forecast = model_forecast(live_info(settings, model))
    if not model.slot_classes:
        return ForecastAnswer(settings, forecast)
    from engine.backends.placement_preview import expected_hit_rate  # noqa: PLC0415 - loads native code

    try:
        rate, is_learned = expected_hit_rate(settings, live_plan(settings, model))
    except EngineError as error:
        return ForecastAnswer(settings, error=error.info)
    return ForecastAnswer(settings, replace(forecast, hit_rate=rate, is_hit_rate_learned=is_learned))


def _forecast(settings: LoadSettings, model: ModelInfo | None) -> Forecast:
    if settings.path == SIMULATED_PATH:
        return model_forecast(fake_model_info(FakeScript(), settings))
    # native code comes along: only the thread that asks for a forecast shall wait for it
    from engine.backends.model_info import effective_budget_bytes  # noqa: PLC0415
    from engine.backends.placement_preview import preview_placement  # noqa: PLC0415
    from engine.placement.forecast import hit_rate  # noqa: PLC0415

    program_bytes, held = (None, ()) if model is None else (model.program_bytes, model.devices)
    preview = preview_placement(settings, program_bytes, held)
    plan, facts, budget = preview.plan, preview.facts, preview.budget
    return Forecast(
        n_expert=facts.n_expert,
        pool_per_layer=_span([each.decode_pool for each in plan.classes]),
        lent_slots=sum(each.slots - each.decode_pool * len(each.spec.layers) for each in plan.classes),
        unit_tokens=plan.unit_tokens,
        budget_bytes=effective_budget_bytes(settings, budget, plan),
        slots_bytes=plan.slots_bytes,
        dense_bytes=budget.dense_bytes,
        context_bytes=budget.context.bytes_for(plan.unit_tokens),
        disk_bytes=preview.disk_bytes,
        hit_rate=hit_rate(preview.forecast(1)) if plan.classes else None,
        is_hit_rate_learned=preview.is_profile_used,
        devices=preview.devices,
        notes=preview.device_notes,
    )


def model_forecast(model: ModelInfo, expected: Forecast | None = None) -> Forecast:
    """The same figures of a model that is loaded; what is expected of its hits comes from a forecast."""
    classes = model.slot_classes
    missing = [each.n_expert * len(each.layers) - each.slots for each in classes]
    return Forecast(
        n_expert=model.n_expert,
        pool_per_layer=_span([each.pool_per_layer for each in classes]),
        lent_slots=sum(each.window_slots for each in classes),
        unit_tokens=model.unit_tokens,
        budget_bytes=model.ram_budget_bytes,
        slots_bytes=model.slots_bytes,
        dense_bytes=model.dense_bytes,
        context_bytes=model.kv_bytes + model.compute_bytes,
        disk_bytes=sum(missing) * model.expert_bytes,
        hit_rate=expected.hit_rate if expected else None,
        is_hit_rate_learned=expected is not None and expected.is_hit_rate_learned,
        devices=model.devices,
    )


def _span(values: Sequence[int]) -> tuple[int, int]:
    return (min(values), max(values)) if values else (0, 0)
