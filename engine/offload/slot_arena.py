"""The memory of one class of expert slots: one arena per projection, slot s of each belongs together.

Slots are allocated once and recycled. Where a slice is a whole number of pages, every slot is congruent with
the file, so that direct reads go straight into it. Slots that hold repacked weights are filled from staged
reads. Loading touches nothing: `SlotPopulator` does that later.
"""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from engine.gguf.expert_layout import ExpertTensor, LayerExperts
from engine.native.memory import PAGE, HugeBuffer
from engine.native.pinned_memory import HostMemory, PinnedBuffer
from engine.native.repack import RepackedForm
from engine.native.tensor import SlotView
from engine.offload.locked_memory import ZoneSpan
from engine.offload.read_job import ReadJob, ReadPart, ReadReason

_NO_TARGET = memoryview(b"")
_ALIGNMENT = 64  # ggml's tensor alignment is 32; a cache line costs nothing


def slot_stride_bytes(slice_bytes: int) -> int:
    """Distance between slots: whole pages plus one to spare for the congruence offset."""
    if slice_bytes % PAGE == 0:
        return slice_bytes + PAGE
    return -(-slice_bytes // _ALIGNMENT) * _ALIGNMENT


def slot_bytes(experts: LayerExperts) -> int:
    """Memory of one slot over all projections and biases."""
    return sum(slot_stride_bytes(t.slice_bytes) for t in (*experts.weights, *experts.biases))


@dataclass(frozen=True, slots=True)
class Projection:
    """One arena: `is_congruent` tells whether direct reads go straight into its slots.

    `form`: what its slots hold in place of the plain rows.
    """

    buffer: HostMemory
    stride_bytes: int
    is_congruent: bool
    form: RepackedForm | None = None


class SlotArena:
    """Slots for all layers of a class. Owned by the engine thread; readers write into leased slots.

    `forms`: of each weight tensor, None where its slots hold plain rows. `allocate`: memory of so many bytes.
    """

    def __init__(
        self,
        sample: LayerExperts,
        n_slots: int,
        forms: Sequence[RepackedForm | None],
        allocate: Callable[[int], HostMemory] = HugeBuffer,
    ) -> None:
        self.n_slots, self._allocate_bytes = n_slots, allocate
        self.forms = tuple(forms)
        self._weights = [self._allocate(t, form) for t, form in zip(sample.weights, forms, strict=True)]
        self._biases = [self._allocate(t, None) for t in sample.biases]
        self._spare: c.Array[c.c_char] | None = None  # one slice, while two change places

    def _allocate(self, expert_tensor: ExpertTensor, form: RepackedForm | None) -> Projection:
        stride = slot_stride_bytes(expert_tensor.slice_bytes)
        buffer = self._allocate_bytes(self.n_slots * stride)
        return Projection(buffer, stride, form is None and expert_tensor.slice_bytes % PAGE == 0, form)

    @property
    def is_pinned(self) -> bool:
        """Whether devices copy from all of it by themselves."""
        return all(isinstance(each.buffer, PinnedBuffer) for each in (*self._weights, *self._biases))

    @property
    def slot_bytes(self) -> int:
        """Memory of one slot over all arenas."""
        return sum(p.stride_bytes for p in (*self._weights, *self._biases))

    def populate(self, first_slot: int, count: int) -> None:
        """Give a range of slots their pages; any thread, content stays as it is."""
        for projection in (*self._weights, *self._biases):
            stride = projection.stride_bytes
            projection.buffer.populate(first_slot * stride, count * stride)

    def weight_view(self, index: int, expert_tensor: ExpertTensor, slots: range) -> SlotView:
        """How weight tensor `index` of a layer sees these slots."""
        projection = self._weights[index]
        start = slots.start * projection.stride_bytes + self._lead(projection, expert_tensor)
        # llama.cpp has repacked kernels for three dimensions, and a last one of 1 is none; no id says 1 then
        count = max(len(slots), 2) if projection.form else len(slots)
        return SlotView(projection.buffer.address + start, count, projection.stride_bytes)

    def sources(self, experts: LayerExperts, slot: int) -> list[int]:
        """Addresses of one slot's weights and biases, as a layer of the class sees them."""
        slots = range(slot, slot + 1)
        weights = [self.weight_view(index, each, slots).data for index, each in enumerate(experts.weights)]
        return weights + [self.bias_view(index, slots).data for index in range(len(experts.biases))]

    def bias_view(self, index: int, slots: range) -> SlotView:
        """How bias tensor `index` of a layer sees these slots."""
        projection = self._biases[index]
        start = slots.start * projection.stride_bytes
        return SlotView(projection.buffer.address + start, len(slots), projection.stride_bytes)

    @staticmethod
    def _lead(projection: Projection, expert_tensor: ExpertTensor) -> int:
        return expert_tensor.tensor.offset_bytes % PAGE if projection.is_congruent else 0

    def read_job(
        self, experts: LayerExperts, row: int, expert: int, slot: int, reason: ReadReason
    ) -> ReadJob:
        """The reads that bring one expert's weights into a slot."""
        parts = tuple(
            self._read_part(projection, expert_tensor, expert, slot)
            for projection, expert_tensor in zip(self._weights, experts.weights, strict=True)
        )
        return ReadJob((row, expert), parts, reason)

    def _read_part(
        self, projection: Projection, expert_tensor: ExpertTensor, expert: int, slot: int
    ) -> ReadPart:
        frame = slot * projection.stride_bytes
        lead = self._lead(projection, expert_tensor)
        size = expert_tensor.slice_bytes
        at = expert_tensor.tensor.offset_bytes + expert * size
        address = projection.buffer.address + frame + lead
        if projection.form is not None:
            deliver = partial(projection.form.fill, address)
            return ReadPart(expert_tensor.tensor.shard, at, size, address, _NO_TARGET, False, deliver)
        start = frame if projection.is_congruent else frame + lead
        target = projection.buffer.view[start : start + size + lead + PAGE]
        return ReadPart(expert_tensor.tensor.shard, at, size, address, target, projection.is_congruent)

    def copy_bias(self, index: int, slot: int, source_address: int, size: int) -> None:
        """Bring one expert's bias row into its slot."""
        projection = self._biases[index]
        c.memmove(projection.buffer.address + slot * projection.stride_bytes, source_address, size)

    def zone_spans(self, n_slots: int) -> list[ZoneSpan]:
        """The memory of the first `n_slots`."""
        return [ZoneSpan(p.buffer, n_slots * p.stride_bytes) for p in (*self._weights, *self._biases)]

    def relocate(self, experts: LayerExperts, slot: int, zone_slot: int, other: LayerExperts | None) -> None:
        """Move what `experts`' layer has in `slot` to `zone_slot`; what `other`'s has there comes back.

        Outside passes only, with no read into these slots in flight.
        """
        for index, projection in enumerate((*self._weights, *self._biases)):
            tensor = (*experts.weights, *experts.biases)[index]
            other_tensor = None if other is None else (*other.weights, *other.biases)[index]
            self._relocate_slice(projection, tensor, slot, zone_slot, other_tensor)

    def _relocate_slice(
        self,
        projection: Projection,
        tensor: ExpertTensor,
        slot: int,
        zone_slot: int,
        other: ExpertTensor | None,
    ) -> None:
        base, stride, size = projection.buffer.address, projection.stride_bytes, tensor.slice_bytes
        source = base + slot * stride
        target = base + zone_slot * stride
        lead = self._lead(projection, tensor)
        if other is None:
            c.memmove(target + lead, source + lead, size)
            return
        if self._spare is None or len(self._spare) < size:
            self._spare = c.create_string_buffer(size)
        other_lead = self._lead(projection, other)  # layers lie differently in their pages
        c.memmove(self._spare, target + other_lead, size)
        c.memmove(target + lead, source + lead, size)
        c.memmove(source + other_lead, self._spare, size)

    def close(self) -> None:
        """Free all arenas; only when no read is in flight and the model is gone."""
        for projection in (*self._weights, *self._biases):
            projection.buffer.close()
