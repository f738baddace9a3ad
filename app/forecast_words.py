"""A forecast in words: one sentence for a dialog, rows for a table."""

from __future__ import annotations

from app.load_forecast import Forecast, ForecastAnswer
from engine.config import format_size
from engine.model_facts import DeviceInfo

_UNKNOWN = "n/a"


def answer_line(answer: ForecastAnswer) -> str:
    """What the load would give, or why it would be refused."""
    if answer.error is not None:
        return f"⚠ {answer.error}"
    if answer.forecast is None:
        return ""
    return forecast_line(answer.forecast)


def forecast_line(forecast: Forecast) -> str:
    """Slots, what stays on disk, expected hits."""
    if not forecast.n_expert:
        return "This model has no experts: all of it is loaded."
    if not forecast.disk_bytes:
        return f"Expected: all experts fit into memory ({format_size(forecast.slots_bytes)})."
    words = [
        f"Expected: {pool_words(forecast)} slots per layer and {forecast.lent_slots:,} to lend",
        f"{format_size(forecast.slots_bytes)} of experts in RAM",
        f"{format_size(forecast.disk_bytes)} on disk only",
        *(f"{format_size(each.used_bytes)} on “{each.name}”" for each in forecast.devices),
    ]
    if forecast.hit_rate is not None:
        words.append(f"hit rate {_percent(forecast.hit_rate)} once warm ({_basis(forecast)})")
    return ", ".join(words) + "."


def forecast_rows(now: Forecast | None, then: Forecast | None) -> list[tuple[str, str, str]]:
    """(name, now, with the values of the form); n/a for what isn't known."""
    before, after = _figures(now), _figures(then)
    names = dict.fromkeys((*_NAMES, *before, *after))
    return [(name, before.get(name, _UNKNOWN), after.get(name, _UNKNOWN)) for name in names]


_NAMES = (
    "slots per layer", "slots to lend", "prompt unit", "memory budget", "expert slots", "dense weights",
    "context and buffers", "experts on disk only", "hit rate expected",
)  # fmt: skip


def _figures(forecast: Forecast | None) -> dict[str, str]:
    if forecast is None:
        return {}
    figures = (
        pool_words(forecast),
        f"{forecast.lent_slots:,}",
        f"{forecast.unit_tokens:,} tokens",
        format_size(forecast.budget_bytes),
        format_size(forecast.slots_bytes),
        format_size(forecast.dense_bytes),
        format_size(forecast.context_bytes),
        format_size(forecast.disk_bytes),
        _UNKNOWN if forecast.hit_rate is None else _percent(forecast.hit_rate),
    )
    on_devices = {f"on {each.name}": _device_words(each) for each in forecast.devices}
    return dict(zip(_NAMES, figures, strict=True)) | on_devices


def _device_words(device: DeviceInfo) -> str:
    experts = f"experts of {len(device.layers)} layers" if device.layers else "no experts"
    return f"{format_size(device.used_bytes)}, {experts}"


def hit_rate_basis(forecast: Forecast) -> str:
    """What the expected hit rate rests on."""
    if forecast.hit_rate is None:
        return ""
    if forecast.is_hit_rate_learned:
        return "The hit rate is expected from which experts this model has used so far."
    return "The hit rate is expected as if all experts were used alike; real use is uneven, and hits more."


def pool_words(forecast: Forecast) -> str:
    """Slots that belong to a layer: 33 of 128, 20–33 of 128."""
    return f"{_span(*forecast.pool_per_layer)} of {forecast.n_expert}"


def _basis(forecast: Forecast) -> str:
    return "by what was used so far" if forecast.is_hit_rate_learned else "if all were used alike"


def _span(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,}–{most:,}"


def _percent(share: float) -> str:
    """Never rounded to all or nothing."""
    percent = share * 100
    return f"{percent:.1f} %" if 0 < percent < 1 or 99 < percent < 100 else f"{percent:.0f} %"
