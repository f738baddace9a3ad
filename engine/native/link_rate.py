"""What the link to a device gives: measured by copies of zeros, a few tens of milliseconds."""

from __future__ import annotations

import time

from engine.errors import BudgetError
from engine.native import tensor
from engine.native.devices import Device, DeviceBuffer, DeviceLink
from engine.native.library import GgmlInitParams, ggml_base
from engine.native.memory import HugeBuffer

_F32, _FLOAT_BYTES = 0, 4
_FIRST_BYTES, _MOST_BYTES = 256 << 10, 32 << 20
_SECONDS = 0.03


def measure_link_rate(device: Device) -> float | None:
    """Bytes per second to the device; None if it has no room for the measurement. Raises DeviceLostError."""
    try:
        target = device.allocate(_MOST_BYTES)
    except BudgetError:
        return None
    source = HugeBuffer(_MOST_BYTES)
    link = device.open_link()
    try:
        return _measure(link, target, source)
    finally:
        link.close()
        target.close()
        source.close()


def _measure(link: DeviceLink, target: DeviceBuffer, source: HugeBuffer) -> float:
    context = ggml_base().ggml_init(GgmlInitParams(1 << 12, None, True))
    try:
        block = int(ggml_base().ggml_new_tensor_3d(context, _F32, _MOST_BYTES // _FLOAT_BYTES, 1, 1))
        tensor.point_at_slots(block, 2, tensor.SlotView(target.address, 1, _MOST_BYTES, target.handle))
        _seconds(link, block, source, _FIRST_BYTES)  # connections and pages warm up
        size, rate = _FIRST_BYTES, 0.0
        while True:
            rate = size / _seconds(link, block, source, size)
            if size == _MOST_BYTES or size / rate >= _SECONDS:
                return rate
            size = min(_MOST_BYTES, max(2 * size, int(_SECONDS * rate)))
    finally:
        ggml_base().ggml_free(context)


def _seconds(link: DeviceLink, block: int, source: HugeBuffer, size: int) -> float:
    start_ns = time.perf_counter_ns()
    link.send(block, 0, source.address, size)
    link.wait()
    tensor.fetch_float32(block)  # only an answer proves that a remote device has everything
    return max(time.perf_counter_ns() - start_ns, 1) / 1e9
