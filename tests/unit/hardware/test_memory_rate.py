"""The memory rate lies where memory can be."""

from __future__ import annotations

import pytest

from engine.hardware.memory_rate import measure_memory_rate


@pytest.mark.parametrize("threads", [1, 3])
def test_between_a_bad_disk_and_a_cache(threads: int) -> None:
    assert 2e8 < measure_memory_rate(threads) < 5e12
