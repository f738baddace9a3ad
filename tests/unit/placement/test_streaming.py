"""When the next layer's experts are certain enough to be read ahead."""

from __future__ import annotations

import numpy as np
import pytest

from engine.placement.streaming import UseForecast, expected_share


def test_expected_share_is_the_uniform_formula() -> None:
    assert expected_share(128, 8, 64) == pytest.approx(1 - (120 / 128) ** 64)
    assert expected_share(4, 8, 1) == 1.0


def test_large_units_stream_all_experts() -> None:
    forecast = UseForecast(2, 128, 8)
    assert len(forecast.predict(1, 64)) == 128  # expected share 98.4 %
    assert len(forecast.predict(1, 16)) == 0  # 64 %: too many bytes would be wasted


def test_small_units_stream_the_last_set_once_it_proved_right() -> None:
    forecast = UseForecast(1, 128, 8)
    used = np.arange(0, 60, 3)
    forecast.observe(0, used, 8)
    assert len(forecast.predict(0, 8)) == 0  # nothing measured yet
    forecast.observe(0, used, 8)  # the same again: precision 1
    assert forecast.predict(0, 8).tolist() == used.tolist()
    forecast.observe(0, np.arange(100, 110), 8)  # none of them: precision 0.8
    assert len(forecast.predict(0, 8)) == 0


def test_skewed_routing_stops_streaming_everything_at_once() -> None:
    forecast = UseForecast(2, 128, 8)
    forecast.observe(0, np.arange(64), 64)  # half of the experts in spite of 64 tokens
    assert len(forecast.predict(1, 64)) == 0
    forecast.observe(0, np.arange(64), 64)
    assert forecast.predict(0, 64).tolist() == list(range(64))  # the last set proved right
