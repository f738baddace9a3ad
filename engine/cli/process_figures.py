"""Figures the system keeps about this process (Linux; 0 elsewhere)."""

from __future__ import annotations

from pathlib import Path


def block_bytes_read() -> int:
    """Bytes this process fetched from block devices, by reads or by page faults."""
    return _number("io", "read_bytes")


def peak_rss_bytes() -> int:
    """Most memory this process has had resident, mapped files included."""
    return _number("status", "VmHWM") << 10


def _number(file: str, name: str) -> int:
    try:
        lines = Path("/proc/self", file).read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(name + ":")), 0)
