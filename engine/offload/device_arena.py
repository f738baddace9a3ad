"""The memory of a class of expert slots on a device: a buffer per projection, slot s of each is one expert.

The host can't address it: slots are filled by copies over a `DeviceLink`, from host slots.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack

from engine.gguf.expert_layout import ExpertTensor, LayerExperts
from engine.native import tensor
from engine.native.devices import Device, DeviceBuffer, DeviceLink
from engine.native.tensor import SlotView, TensorCopy

_LEAST_MEASURED_BYTES = 64 << 20
_WEIGHT_DIMENSION, _BIAS_DIMENSION = 2, 1


def device_slot_bytes(experts: LayerExperts) -> int:
    """Memory of one slot over all projections and biases; slots lie close together, as in the file."""
    return sum(each.slice_bytes for each in (*experts.weights, *experts.biases))


class _Projection:
    """One buffer and a tensor that spans all of its slots."""

    def __init__(self, device: Device, sample: int, each: ExpertTensor, dimension: int, n_slots: int) -> None:
        self.stride_bytes, self.dimension = each.slice_bytes, dimension
        self.whole = TensorCopy(sample)
        unplaced = SlotView(0, n_slots, self.stride_bytes)
        tensor.point_at_slots(self.whole.address, dimension, unplaced)
        self.buffer: DeviceBuffer = device.allocate(device.allocated_bytes(self.whole.address))
        tensor.point_at_slots(self.whole.address, dimension, self.view(range(n_slots)))

    def view(self, slots: range) -> SlotView:
        start = self.buffer.address + slots.start * self.stride_bytes
        return SlotView(start, len(slots), self.stride_bytes, self.buffer.handle)


class DeviceArena:
    """Slots for layers of a class on one device; owned by the engine thread.

    `samples`: addresses of the loaded tensors of one layer, weights and then biases.
    """

    def __init__(self, device: Device, experts: LayerExperts, samples: Sequence[int], n_slots: int) -> None:
        """Allocate, all zero; raises BudgetError or DeviceLostError, and then holds nothing."""
        self.n_slots = n_slots
        self.slot_bytes = device_slot_bytes(experts)
        dimensions = [_WEIGHT_DIMENSION] * len(experts.weights) + [_BIAS_DIMENSION] * len(experts.biases)
        with ExitStack() as stack:
            self._projections: list[_Projection] = []
            pairs = zip(samples, (*experts.weights, *experts.biases), dimensions, strict=True)
            for sample, each, dimension in pairs:
                self._projections.append(_Projection(device, sample, each, dimension, n_slots))
                stack.callback(self._projections[-1].buffer.close)
            self._stack = stack.pop_all()

    def point(self, tensors: Sequence[int], slots: range) -> None:
        """Make a layer's tensors (weights, then biases) see these slots."""
        for address, projection in zip(tensors, self._projections, strict=True):
            tensor.point_at_slots(address, projection.dimension, projection.view(slots))

    def send(self, link: DeviceLink, slot: int, sources: Sequence[int]) -> int:
        """Queue the copy of one expert into a slot; `sources`: addresses in RAM. Returns the bytes."""
        for address, projection in zip(sources, self._projections, strict=True):
            size = projection.stride_bytes
            link.send(projection.whole.address, slot * size, address, size)
        return self.slot_bytes

    def measure_fill(self) -> float | None:
        """Bytes per second at which an arena that holds nothing yet is cleared; None if too small to tell.

        Only for a device here: nobody waits for another machine to have cleared its memory.
        """
        largest = max((each.buffer for each in self._projections), key=lambda buffer: buffer.size_bytes)
        if largest.size_bytes < _LEAST_MEASURED_BYTES:
            return None
        started_ns = time.perf_counter_ns()
        largest.clear()
        return largest.size_bytes * 1e9 / max(time.perf_counter_ns() - started_ns, 1)

    def close(self) -> None:
        """Free all buffers; only when the model is gone. Idempotent."""
        self._stack.close()
