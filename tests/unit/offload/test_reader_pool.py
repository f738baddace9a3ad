"""Reads land byte for byte, demand overtakes streaming, faults are reported, counters add up."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from engine.errors import Cancelled, DiskReadError
from engine.native.memory import PAGE, HugeBuffer
from engine.offload.read_job import ReadJob, ReadPart, ReadReason
from engine.offload.reader_pool import ReaderPool
from engine.offload.weight_files import WeightFiles

SIZE = 300_000


@pytest.fixture
def weights(tmp_path: Path) -> tuple[Path, bytes]:
    data = np.random.default_rng(5).integers(0, 256, SIZE, np.uint8).tobytes()
    path = tmp_path / "weights.bin"
    path.write_bytes(data)
    return path, data


@pytest.fixture
def target() -> Iterator[HugeBuffer]:
    buffer = HugeBuffer(1 << 20)
    yield buffer
    buffer.close()


def part(target: HugeBuffer, offset: int, size: int, at: int, is_congruent: bool) -> ReadPart:
    frame = at - offset % PAGE if is_congruent else at
    view = target.view[frame : frame + size + 2 * PAGE]
    return ReadPart(0, offset, size, target.address + at, view, is_congruent)


def never() -> None:
    return None


@pytest.mark.parametrize("is_direct", [True, False])
@pytest.mark.parametrize(
    ("offset", "size", "is_congruent"),
    [(5000, 40_000, True), (4096, 8192, True), (5000, 40_001, False), (SIZE - 777, 777, False),
     (SIZE - 5000, 5000, True)],
)  # fmt: skip
def test_bytes_land_where_they_should(
    weights: tuple[Path, bytes],
    target: HugeBuffer,
    is_direct: bool,
    offset: int,
    size: int,
    is_congruent: bool,
) -> None:
    path, data = weights
    files = WeightFiles((path,), is_direct)
    readers = ReaderPool(files, 2, 64 * 1024)
    at = 65536 + (offset % PAGE if is_congruent else 100)
    job = ReadJob((0, 0), (part(target, offset, size, at, is_congruent),), ReadReason.MISS)
    readers.submit([job])
    readers.wait([job], never)
    readers.close()
    files.close()
    assert job.error is None
    assert bytes(target.view[at : at + size]) == data[offset : offset + size]
    assert size <= job.bytes_read <= size + 2 * PAGE


@pytest.mark.parametrize("is_direct", [True, False])
def test_staged_bytes_are_delivered_on_a_reader_thread(weights: tuple[Path, bytes], is_direct: bool) -> None:
    path, data = weights
    files = WeightFiles((path,), is_direct)
    readers = ReaderPool(files, 1, 64 * 1024)
    came: list[tuple[str, bytes]] = []

    def deliver(address: int) -> None:
        came.append((threading.current_thread().name, ctypes.string_at(address, 40_000)))

    job = ReadJob((0, 0), (ReadPart(0, 5001, 40_000, 0, memoryview(b""), False, deliver),), ReadReason.MISS)
    readers.submit([job])
    readers.wait([job], never)
    readers.close()
    files.close()
    assert job.error is None
    assert came == [("emberglass-reader-0", data[5001:45_001])]


def test_delivering_is_no_reading(weights: tuple[Path, bytes]) -> None:
    path, _ = weights
    files = WeightFiles((path,))
    readers = ReaderPool(files, 1, 64 * 1024)
    busy_ns: list[int] = []

    def deliver(address: int) -> None:
        busy_ns.extend(readers.snapshot()[1] for _ in range(2))

    job = ReadJob((0, 0), (ReadPart(0, 0, 4096, 0, memoryview(b""), False, deliver),), ReadReason.MISS)
    readers.submit([job])
    readers.wait([job], never)
    assert busy_ns == [readers.snapshot()[1]] * 2  # the clock stands still
    assert busy_ns[0] > 0
    readers.close()
    files.close()


def test_failed_delivery_is_a_fault_of_the_job(weights: tuple[Path, bytes]) -> None:
    path, _ = weights
    files = WeightFiles((path,))
    readers = ReaderPool(files, 1, 64 * 1024)

    def deliver(address: int) -> None:
        raise DiskReadError("The other side is gone.")

    job = ReadJob((0, 0), (ReadPart(0, 0, 4096, 0, memoryview(b""), False, deliver),), ReadReason.MISS)
    readers.submit([job])
    readers.wait([job], never)
    readers.close()
    files.close()
    assert str(job.error).startswith("The other side is gone.")


def test_truncated_file_is_a_named_fault(weights: tuple[Path, bytes], target: HugeBuffer) -> None:
    path, _ = weights
    files = WeightFiles((path,))
    readers = ReaderPool(files, 1, 64 * 1024)
    os.truncate(path, 10_000)
    job = ReadJob((0, 0), (part(target, 8192, 40_000, 4096 * 4, False),), ReadReason.MISS)
    readers.submit([job])
    readers.wait([job], never)
    assert isinstance(job.error, DiskReadError)
    assert "truncated" in job.error.fault
    assert "weights.bin" in job.error.fault
    assert readers.snapshot()[2] == 1
    readers.close()
    files.close()


def test_unlinked_file_is_still_readable(weights: tuple[Path, bytes], target: HugeBuffer) -> None:
    path, data = weights
    files = WeightFiles((path,))
    path.unlink()
    readers = ReaderPool(files, 1, 64 * 1024)
    job = ReadJob((0, 0), (part(target, 100, 5000, 0, False),), ReadReason.MISS)
    readers.submit([job])
    readers.wait([job], never)
    readers.close()
    files.close()
    assert bytes(target.view[:5000]) == data[100:5100]


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DiskReadError, match=r"gone\.gguf"):
        WeightFiles((tmp_path / "gone.gguf",))


class _Gate(WeightFiles):
    """Files whose reads wait for a gate and are written down."""

    def __init__(self, path: Path) -> None:
        super().__init__((path,), False)
        self.gate = threading.Event()
        self.order: list[int] = []

    def read(self, shard: int, target: memoryview, offset: int, least_bytes: int) -> int:
        self.gate.wait(10)
        self.order.append(offset)
        return super().read(shard, target, offset, least_bytes)


@pytest.fixture
def gated(weights: tuple[Path, bytes]) -> Iterator[tuple[_Gate, ReaderPool, Callable[..., ReadJob]]]:
    files = _Gate(weights[0])
    readers = ReaderPool(files, 1, 64 * 1024)
    buffer = HugeBuffer(1 << 20)

    def job(offset: int, reason: ReadReason) -> ReadJob:
        return ReadJob((0, offset), (part(buffer, offset, 512, offset, False),), reason)

    yield files, readers, job
    files.gate.set()
    readers.close()
    files.close()
    buffer.close()


def test_demand_overtakes_streaming(gated: tuple[_Gate, ReaderPool, Callable[..., ReadJob]]) -> None:
    files, readers, job = gated
    first = job(0, ReadReason.MISS)  # occupies the only reader
    streams = [job(offset, ReadReason.STREAM) for offset in (1024, 2048, 3072)]
    demand = job(9000, ReadReason.MISS)
    readers.submit([first])
    readers.submit(streams)
    readers.submit([demand])
    readers.hasten([streams[2]])
    files.gate.set()
    readers.wait([first, *streams, demand], never)
    rest = [offset for offset in files.order if offset != 0]
    assert rest == [9000, 3072, 1024, 2048]


def test_calling_off_fails_what_has_not_started(
    gated: tuple[_Gate, ReaderPool, Callable[..., ReadJob]],
) -> None:
    files, readers, job = gated
    running, queued = job(0, ReadReason.MISS), job(1024, ReadReason.MISS)
    readers.submit([running, queued])

    def stop() -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        readers.wait([running, queued], stop)
    files.gate.set()
    readers.drop_queued()
    assert running.is_done
    assert queued.is_done
    assert queued.error is not None or 1024 in files.order  # it may have been picked up before the call


def test_withdrawn_streams_free_what_has_not_begun(
    gated: tuple[_Gate, ReaderPool, Callable[..., ReadJob]],
) -> None:
    files, readers, job = gated
    busy = job(0, ReadReason.MISS)  # occupies the only reader
    streams = [job(offset, ReadReason.STREAM) for offset in (1024, 2048, 3072)]
    readers.submit([busy])
    readers.submit(streams)
    readers.withdraw([busy, *streams[:2]])
    assert [each.is_done for each in streams] == [True, True, False]
    files.gate.set()
    readers.wait([busy, *streams], never)
    assert [each.error is None for each in (busy, *streams)] == [True, False, False, True]
    assert sorted(files.order) == [0, 3072]
    assert readers.snapshot()[2] == 0  # nothing failed


def test_counters_add_up(weights: tuple[Path, bytes], target: HugeBuffer) -> None:
    files = WeightFiles((weights[0],), False)
    readers = ReaderPool(files, 3, 64 * 1024)
    jobs = [
        ReadJob((0, i), (part(target, 1000 * i, 1000, 1000 * i, False),), reason)
        for i, reason in enumerate([ReadReason.MISS, ReadReason.STREAM, ReadReason.DENSE] * 4)
    ]
    readers.submit(jobs)
    readers.wait(jobs, never)
    by_reason, busy_ns, errors = readers.snapshot()
    readers.close()
    files.close()
    assert by_reason == {"miss": 4000, "stream": 4000, "dense": 4000}
    assert busy_ns > 0
    assert errors == 0


def test_io_error_is_a_named_fault(
    weights: tuple[Path, bytes], target: HugeBuffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = WeightFiles((weights[0],))
    readers = ReaderPool(files, 1, 64 * 1024)

    def fail(*_: object) -> int:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "preadv", fail)
    job = ReadJob((0, 0), (part(target, 8192, 4096, 4096 * 4, True),), ReadReason.MISS)
    readers.submit([job])
    readers.wait([job], never)
    readers.close()
    files.close()
    assert isinstance(job.error, DiskReadError)
    assert "Input/output error" in job.error.fault
    assert "weights.bin at byte 8192" in job.error.fault
    assert job.bytes_read == 0
