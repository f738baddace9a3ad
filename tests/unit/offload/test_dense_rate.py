"""What the dense read says about the drive: something only if it was long enough."""

from __future__ import annotations

import pytest

from engine.offload.dense_reader import dense_read_rate

MIB = 1 << 20


@pytest.mark.parametrize(
    ("read_bytes", "busy_ns", "rate"),
    [
        (64 * MIB, 10**9, 64.0 * MIB),
        (96 * MIB, 500_000_000, 192.0 * MIB),
        (64 * MIB - 1, 10**9, None),
        (0, 0, None),
    ],
)
def test_bytes_over_busy_time(read_bytes: int, busy_ns: int, rate: float | None) -> None:
    assert dense_read_rate(read_bytes, busy_ns) == rate
