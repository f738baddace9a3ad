"""A device that copies while it computes: a stand-in on a device whose own link can't.

Every copy is done at the last moment it may be: when it is waited for. Whoever changes its source before, or
computes with what it has not waited for, gets another answer.
"""

from __future__ import annotations

import pytest

from engine.backends import device_loading
from engine.native.devices import Device, DeviceLink
from engine.native.library import ggml_base

_BYTES_PER_SECOND = 1e12  # so that a busy machine changes nothing


class LateLink(DeviceLink):
    """Copies at `wait`."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self._queued: list[tuple[int, int, int, int]] = []

    def send(self, tensor: int, offset: int, address: int, size: int) -> None:
        self._queued.append((tensor, offset, address, size))

    def wait(self) -> None:
        for each in self._queued:
            super().send(*each)
        self._queued.clear()
        super().wait()


def let_devices_copy_ahead(monkeypatch: pytest.MonkeyPatch, is_late: bool) -> None:
    """From now on devices say they copy while they compute, quickly, and offer “pinned” memory."""
    monkeypatch.setattr(device_loading, "measure_link_rate", lambda _: _BYTES_PER_SECOND)
    monkeypatch.setattr(Device, "copies_while_computing", property(lambda _: True))
    host_type = int(ggml_base().ggml_backend_cpu_buffer_type())
    monkeypatch.setattr(Device, "host_buffer_type", property(lambda _: host_type))
    if is_late:
        monkeypatch.setattr(Device, "open_link", _open_late_link)


def _open_late_link(device: Device) -> LateLink:
    return LateLink(device)
