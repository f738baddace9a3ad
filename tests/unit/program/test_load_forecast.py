"""Forecasts of the simulated model, and how they are told."""

from __future__ import annotations

from dataclasses import replace

from app.chosen_backend import SIMULATED_PATH
from app.forecast_words import answer_line, forecast_line, forecast_rows, hit_rate_basis
from app.load_forecast import Forecast, forecast_load, model_forecast
from engine.backends.fake_model import fake_model_info
from engine.backends.fake_script import FakeScript
from engine.config import GIB, MIB, LoadSettings
from engine.model_facts import DeviceInfo
from tests.support.telemetry_events import model_info

_FORECAST = Forecast(
    n_expert=128,
    pool_per_layer=(20, 33),
    lent_slots=64,
    unit_tokens=512,
    budget_bytes=6 * GIB,
    slots_bytes=3 * GIB,
    dense_bytes=GIB,
    context_bytes=256 * MIB,
    disk_bytes=9 * GIB,
    hit_rate=0.783,
    is_hit_rate_learned=True,
)


def test_the_simulated_model_is_forecast_as_it_loads() -> None:
    settings = LoadSettings(SIMULATED_PATH, ram_budget_bytes=5 * GIB)
    answer = forecast_load(settings)
    loaded = fake_model_info(FakeScript(), settings)
    assert answer.error is None
    assert answer.settings == settings
    assert answer.forecast == model_forecast(loaded)
    assert answer.forecast.pool_per_layer == (loaded.slot_classes[0].pool_per_layer,) * 2
    # 24 layers of 64 experts, 6 MiB each
    assert answer.forecast.disk_bytes == (24 * 64 - loaded.slot_classes[0].slots) * 6 * MIB


def test_a_refused_load_says_why() -> None:
    answer = forecast_load(LoadSettings(SIMULATED_PATH, ram_budget_bytes=GIB))
    assert answer.forecast is None
    assert answer.error is not None
    assert answer.error.kind == "BudgetError"
    assert answer_line(answer).startswith("⚠ A budget of 1 GiB can't hold this simulated model.")


def test_words() -> None:
    assert forecast_line(_FORECAST) == (
        "Expected: 20–33 of 128 slots per layer and 64 to lend, 3 GiB of experts in RAM, 9 GiB on disk only, "
        "hit rate 78 % once warm (by what was used so far)."
    )
    device = DeviceInfo("GPU0", "card", 4 * GIB, 3 * GIB, 2 * GIB, (4, 5))
    assert "9 GiB on disk only, 2 GiB on “GPU0”, hit rate" in forecast_line(
        replace(_FORECAST, devices=(device,))
    )
    whole = replace(_FORECAST, disk_bytes=0)
    assert forecast_line(whole) == "Expected: all experts fit into memory (3 GiB)."
    assert forecast_line(replace(whole, n_expert=0)) == "This model has no experts: all of it is loaded."


def test_rows_put_what_is_unknown_as_such() -> None:
    rows = {name: (now, then) for name, now, then in forecast_rows(None, _FORECAST)}
    assert rows["slots per layer"] == ("n/a", "20–33 of 128")
    assert rows["slots to lend"] == ("n/a", "64")
    assert rows["memory budget"] == ("n/a", "6 GiB")
    assert rows["experts on disk only"] == ("n/a", "9 GiB")
    assert rows["hit rate expected"] == ("n/a", "78 %")
    assert len(rows) == 9


def test_what_the_hit_rate_rests_on() -> None:
    assert "used so far" in hit_rate_basis(_FORECAST)
    assert hit_rate_basis(model_forecast(model_info())) == ""
    assert model_forecast(model_info(), _FORECAST).hit_rate == 0.783
