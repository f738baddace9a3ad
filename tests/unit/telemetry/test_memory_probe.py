"""Memory readings agree with the operating system."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from engine.telemetry.memory_probe import read_memory


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_total_is_what_the_kernel_says() -> None:
    first = Path("/proc/meminfo").read_text().splitlines()[0].split()
    assert first[0] == "MemTotal:"
    assert read_memory().total_bytes == int(first[1]) * 1024


def test_resident_memory_grows_with_what_is_held() -> None:
    before = read_memory()
    held = bytearray(b"\x01" * (64 << 20))
    grown = read_memory().rss_bytes - before.rss_bytes
    assert grown > len(held) // 2
    assert 0 < before.available_bytes <= before.total_bytes
