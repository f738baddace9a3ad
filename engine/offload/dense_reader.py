"""Reads everything that is not a routed expert into memory, in file order, with progress and cancel."""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from engine.gguf.model_file import TensorInfo
from engine.gguf.tensor_types import type_number
from engine.native.repack import ROW_GROUP, repacked_form
from engine.offload.read_job import ReadJob, ReadPart, ReadReason
from engine.offload.reader_pool import ReaderPool

CHUNK_BYTES = 4 << 20
_CHUNKS_PER_STEP = 8
_LEAST_MEASURED_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Destination:
    """A tensor and where its bytes go: an address in RAM, or, given `store`, wherever that puts them.

    `store(offset, address, size)` takes bytes in RAM that go to `offset` of the tensor, on a reader's thread.
    `is_repacked`: the tensor is a matrix in RAM whose rows are rewritten for faster kernels.
    """

    tensor: TensorInfo
    address: int = 0
    store: Callable[[int, int, int], None] | None = None
    is_repacked: bool = False


def read_dense(
    destinations: Sequence[Destination],
    readers: ReaderPool,
    report: Callable[[int, int], None],
    check: Callable[[], None],
) -> None:
    """Fill all destinations; `report(done_bytes, total_bytes)` after every few chunks.

    Raises DiskReadError, or whatever `check` raises; no read is in flight afterwards.
    """
    ordered = sorted(destinations, key=lambda d: (d.tensor.shard, d.tensor.offset_bytes))
    total = sum(d.tensor.size_bytes for d in ordered)
    chunks = [part for destination in ordered for part in _chunks(destination)]
    done = 0
    report(done, total)
    try:
        pending: list[ReadJob] = []
        for start in range(0, len(chunks), _CHUNKS_PER_STEP):
            check()
            step = [
                ReadJob((0, 0), (part,), ReadReason.DENSE)
                for part in chunks[start : start + _CHUNKS_PER_STEP]
            ]
            readers.submit(step)  # one step ahead, so that the readers never run dry
            done += _collect(pending, readers, check)
            report(done, total)
            pending = step
        done += _collect(pending, readers, check)
    except BaseException:
        readers.drop_queued()
        raise
    report(done, total)


def dense_read_rate(read_bytes: int, busy_ns: int) -> float | None:
    """Bytes per second while the dense weights were read; None if they were too few to tell.

    Says something about the drive only if reads are direct.
    """
    return read_bytes * 1e9 / busy_ns if read_bytes >= _LEAST_MEASURED_BYTES and busy_ns else None


def _collect(jobs: list[ReadJob], readers: ReaderPool, check: Callable[[], None]) -> int:
    readers.wait(jobs, check)
    for job in jobs:
        if job.error is not None:
            raise job.error
    return sum(part.size for job in jobs for part in job.parts)


def _chunks(destination: Destination) -> list[ReadPart]:
    tensor, address = destination.tensor, destination.address
    if destination.is_repacked:
        return _repacked_chunks(tensor, address)
    parts = []
    for start in range(0, tensor.size_bytes, CHUNK_BYTES):
        size = min(CHUNK_BYTES, tensor.size_bytes - start)
        if destination.store is not None:
            deliver = partial(_store, destination.store, start, size)
            parts.append(
                ReadPart(tensor.shard, tensor.offset_bytes + start, size, 0, memoryview(b""), False, deliver)
            )
            continue
        target = memoryview((c.c_char * size).from_address(address + start)).cast("B")
        parts.append(
            ReadPart(tensor.shard, tensor.offset_bytes + start, size, address + start, target, False)
        )
    return parts


def _store(store: Callable[[int, int, int], None], start: int, size: int, address: int) -> None:
    store(start, address, size)


def _chunk_rows(tensor: TensorInfo) -> int:
    """Rows of a matrix that are repacked at a time."""
    row_bytes = tensor.size_bytes // tensor.shape[1]
    return max(1, CHUNK_BYTES // (row_bytes * ROW_GROUP)) * ROW_GROUP


def _repacked_chunks(tensor: TensorInfo, address: int) -> list[ReadPart]:
    columns, all_rows = tensor.shape[0], tensor.shape[1]
    row_bytes = tensor.size_bytes // all_rows
    step = _chunk_rows(tensor)
    parts = []
    for first in range(0, all_rows, step):
        rows = min(step, all_rows - first)
        form = repacked_form(type_number(tensor.type_name), columns, rows, all_rows)
        assert form is not None, "llama.cpp has chosen the repacked form"
        start = first * row_bytes
        deliver = partial(form.fill, address + start)
        at, size = tensor.offset_bytes + start, rows * row_bytes
        parts.append(ReadPart(tensor.shard, at, size, address + start, memoryview(b""), False, deliver))
    return parts
