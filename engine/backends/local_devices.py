"""Devices of this machine that a load can be given, for whoever lets the user choose."""

from __future__ import annotations

from engine.errors import EngineError
from engine.native.devices import local_device_names


def local_devices() -> tuple[str, ...]:
    """Names as LoadSettings.devices takes them; empty also where llama.cpp can't be used. Any thread."""
    try:
        return local_device_names()
    except EngineError:
        return ()
