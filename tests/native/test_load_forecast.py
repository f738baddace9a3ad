"""What a forecast says is what the load does, also while another model is still in memory."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from app.load_forecast import Forecast, forecast_change, forecast_load, model_forecast
from engine.backends.base import CancelToken
from engine.backends.llama_cpp import LlamaCppBackend
from engine.config import MIB, LoadSettings, Routing
from engine.hardware.memory import resident_bytes
from tests.native.conftest import TinyModels
from tests.support.device_server import serving_device
from tests.support.exact_runs import loaded


def _slots(forecast: Forecast | None, n_layer: int) -> int:
    assert forecast is not None
    least, most = forecast.pool_per_layer
    assert least == most
    return least * n_layer + forecast.lent_slots


def test_a_forecast_comes_true(tiny_models: TinyModels) -> None:
    path = tiny_models("qwen3moe", n_layer=6, n_expert=64, n_embd=512, n_ff=512)
    budget_bytes = resident_bytes() + 190 * MIB
    settings = LoadSettings(path, context_tokens=512, threads=1, ram_budget_bytes=budget_bytes)
    backend = LlamaCppBackend()
    try:
        info = backend.load(settings, lambda _: None, CancelToken()).info
        forecast = forecast_load(settings, info).forecast
    finally:
        backend.unload()
    loaded = model_forecast(info)
    assert forecast is not None
    assert 64 <= _slots(loaded, 6) < 384
    # llama.cpp says what the context takes only when it exists: slots take what the estimate was off by
    shares = [each.slots_bytes + each.context_bytes for each in (loaded, forecast)]
    assert shares[0] == pytest.approx(shares[1], abs=info.slot_classes[0].slot_bytes)
    assert (forecast.dense_bytes, forecast.budget_bytes) == (loaded.dense_bytes, budget_bytes)
    assert forecast.unit_tokens == loaded.unit_tokens
    # used alike, every expert that has a slot is as likely as any other
    assert forecast.hit_rate == pytest.approx(_slots(forecast, 6) / 384, abs=0.02)


def test_a_fixed_number_of_slots_has_the_budget_that_it_takes(tiny_models: TinyModels) -> None:
    path = tiny_models("qwen3moe", n_layer=6, n_expert=64, n_embd=512, n_ff=512)
    settings = LoadSettings(path, context_tokens=512, slots_per_class=128)
    few, many = (forecast_load(replace(settings, slots_per_class=n)).forecast for n in (128, 256))
    assert few is not None
    assert many is not None
    assert (_slots(few, 6), _slots(many, 6)) == (128, 256)
    assert many.budget_bytes - few.budget_bytes == pytest.approx(128 * few.slots_bytes / 128, rel=0.1)


def test_a_file_that_is_none_is_refused_as_a_load_would(tiny_models: TinyModels) -> None:
    answer = forecast_load(LoadSettings(tiny_models("qwen3moe").with_name("gone.gguf")))
    assert answer.forecast is None
    assert answer.error is not None
    assert answer.error.kind == "ModelFileError"


def test_a_device_in_use_is_counted_as_it_was_found(tiny_models: TinyModels) -> None:
    path = tiny_models("qwen3moe")
    with serving_device() as server:
        settings = LoadSettings(
            path, context_tokens=512, threads=1, devices=(server.name,), vram_budget_bytes=64 * MIB
        )
        with loaded(settings) as (_, info):
            same = forecast_load(settings, info).forecast
            less = forecast_load(replace(settings, vram_budget_bytes=MIB), info).forecast
            free = forecast_load(replace(settings, devices=()), info).forecast
        after = forecast_load(settings).forecast
    assert same is not None
    assert less is not None
    assert free is not None
    assert after is not None
    assert info.devices[0].layers
    for forecast in (same, after):
        assert [(d.name, d.used_bytes, d.layers) for d in forecast.devices] == [
            (d.name, d.used_bytes, d.layers) for d in info.devices
        ]
        assert forecast.dense_bytes == info.dense_bytes
    assert "as if nothing else took memory there" in same.notes[0]
    assert less.devices[0].used_bytes <= MIB
    assert less.dense_bytes > same.dense_bytes
    assert (free.devices, free.notes) == ((), ())


def test_a_change_without_a_load_is_forecast_on_the_slots_that_are_there(tiny_models: TinyModels) -> None:
    settings = LoadSettings(tiny_models("qwen3moe"), context_tokens=512, threads=1, slots_per_class=32)
    wanted = replace(settings, routing=Routing.RESIDENT, pool_per_layer=6)
    with loaded(settings) as (backend, info):
        forecast = forecast_change(wanted, info).forecast
        before = forecast_change(settings, info).forecast
        now = backend.adjust(wanted, CancelToken())
    assert before is not None
    assert forecast is not None
    assert replace(forecast, hit_rate=None) == replace(model_forecast(now), hit_rate=None)
    # used alike: 32 of 64 experts are there; with resident routing only rank 0 of 4 can miss
    assert before.hit_rate == pytest.approx(0.5, abs=0.01)
    assert forecast.hit_rate is not None
    assert forecast.hit_rate > 1 - 1 / 4 * (1 - 6 / 16) - 0.05


_LOAD = """
import sys
from pathlib import Path
from engine.backends.base import CancelToken
from engine.backends.llama_cpp import LlamaCppBackend
from engine.config import LoadSettings
from app.load_forecast import forecast_load
settings = LoadSettings(Path(sys.argv[1]), context_tokens=1024, threads=1, unit_tokens=int(sys.argv[2]))
backend = LlamaCppBackend()
info = backend.load(settings, lambda _: None, CancelToken()).info
backend.unload()
forecast = forecast_load(settings).forecast
print(info.unit_tokens, forecast.unit_tokens, info.kv_bytes + info.compute_bytes, forecast.context_bytes)
"""


@pytest.mark.parametrize("unit", [8, 128, 512])
@pytest.mark.parametrize("variant", ["qwen3moe", "mixed", "gpt-oss", "deepseek2", "gemma4", "gemma3n"])
def test_a_context_takes_about_what_was_estimated(tiny_models: TinyModels, variant: str, unit: int) -> None:
    """By what a fresh process's private memory grew; a unit's own part is a fifth to two thirds of it."""
    command = [sys.executable, "-c", _LOAD, str(tiny_models(variant)), str(unit)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    effective, forecast, taken_bytes, estimated_bytes = map(int, printed.split())
    assert effective == forecast == unit
    # in a first load a megabyte or two come on top: a tenth of such small ones
    assert 0.8 < estimated_bytes / taken_bytes < 1.25
